"""What a training run does beside its steps: a line now and then, a checkpoint, a look at the watched sets."""

import time


class Pace:
    """`save(step)` and `watch()` are called when so many seconds have passed; `spent` is of the runs before this one."""

    def __init__(self, steps, start, batch, every, save, watch, spent=0.0):
        self.steps, self.start, self.batch, self.spent = steps, start, batch, spent
        self.save_every, self.watch_every = every
        self.save, self.watch = save, watch
        self.began = self.saved = self.watched = time.time()
        self.running = None

    def seconds(self):
        """Of all runs together."""
        return self.spent + time.time() - self.began

    def after(self, step, loss):
        self.running = loss if self.running is None else .98 * self.running + .02 * loss
        now = time.time()
        if step % 50 == 0:
            speed = (step - self.start + 1) * self.batch / (now - self.began)
            print(f"{step}/{self.steps} loss {self.running:.4f} {speed:.1f} pairs/s", flush=True)
        if now - self.saved > self.save_every:
            self.save(step + 1)
            self.saved = time.time()
        if now - self.watched > self.watch_every:
            print("watch", self.watch(), flush=True)
            self.watched = time.time()
