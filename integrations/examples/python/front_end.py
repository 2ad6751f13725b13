"""A dialog of your own: the person who is signed in sees what they may decide, and answers.

`python front_end.py kim@example.com support`. COUNTERSIGN_TOKEN has role front-end.
"""

import asyncio
import os
import sys

from countersign_client import CountersignError, FrontEnd

# Of the session of your application, never of the request of a browser.
user, *groups = sys.argv[1:]
url = os.environ.get("COUNTERSIGN_URL", "http://127.0.0.1:7400")
token = os.environ["COUNTERSIGN_TOKEN"]


async def main():
    async with FrontEnd(url, token) as front_end:
        kim = front_end.as_(user, groups)
        async for approval in kim.approvals(mine="true"):
            # Also of what the other calls of its step propose, where they run together.
            of = {name: approval.get(name) for name in ("shownDigest", "shownOthersDigest")}
            shown = {"proposalDigest": approval["proposal"]["digest"], **of}
            try:
                answered = await kim.respond(approval["approvalId"], {"type": "approve"}, **shown)
                print(approval["toolName"], answered["state"])
            except CountersignError as error:
                print(approval["toolName"], error.code)


asyncio.run(main())
