"""A function that tenacity repeats unless its error is final: tenacity_retry:main."""

from tenacity import retry, retry_if_not_exception_type, stop_after_attempt

from umi_sim.programs import ends_when_cancelled, service

rules = [ends_when_cancelled]


@service
async def pay():
    return "paid"


@retry(retry=retry_if_not_exception_type(ValueError), stop=stop_after_attempt(3), reraise=True)
async def main():
    await pay()
