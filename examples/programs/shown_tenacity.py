"""A timeout around a function that tenacity repeats starts it again. No umi_sim."""

import asyncio

from tenacity import retry, retry_if_not_exception_type, stop_after_attempt

calls: list[str] = []


@retry(retry=retry_if_not_exception_type(ValueError), stop=stop_after_attempt(3), reraise=True)
async def pay() -> str:
    calls.append("pay")
    await asyncio.sleep(0.5)
    return "paid"


async def main() -> None:
    print(await asyncio.wait_for(pay(), 0.1), f"after {len(calls)} calls, and no TimeoutError")


asyncio.run(main())
