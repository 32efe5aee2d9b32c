"""Processes that compute during a measurement, as on a busy machine. Owns their start and end."""

import os
import subprocess
import sys

# Ends with the process that started it, also if that was killed.
COMPUTE = """
import os
while os.getppid() == {parent}:
    for _ in range(1_000_000):
        pass
"""


class Load:
    """Runs computing processes while it is entered, each in a session of its own: Linux gives sessions equal
    shares."""

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
