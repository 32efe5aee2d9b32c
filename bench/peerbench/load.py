"""Processes that compute beside what is measured: a busy machine. Owns their lives."""

import os
import subprocess
import sys

# Ends with the process that started it, however that ended.
COMPUTE = """
import os
while os.getppid() == {parent}:
    for _ in range(1_000_000):
        pass
"""


class Load:
    """So many computing processes while this is entered, each in a session of its own: Linux gives sessions equal shares."""

    def __init__(self, count):
        self.count = count
        self.processes = []

    def __enter__(self):
        text = COMPUTE.format(parent=os.getpid())
        for _ in range(self.count):
            self.processes.append(subprocess.Popen([sys.executable, "-I", "-c", text], start_new_session=True))
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()
