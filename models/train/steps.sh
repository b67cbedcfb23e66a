# Shared by the scripts that make models: `. steps.sh`. Needs $here and $python.
run() { script=$1; shift; "$python" "$here/$script" "$@"; }
# Makes $1 with the rest of the line, under another name until it is whole.
make() {
    whole=$1; shift
    [ ! -e "$whole" ] || return 0
    rm -rf "$whole.part"
    "$@" --out "$whole.part"
    mv "$whole.part" "$whole"
}
