"""Runs the file of an agent again for each run of the kit: the agent makes all of its objects again, and the framework is loaded once."""

import os
import runpy
import sys

agent = sys.argv[1]
sys.path.insert(0, os.path.dirname(agent))
while True:
    runpy.run_path(agent, run_name="__main__")
