"""The floor: the official client with aiohttp beneath it, a bounded pool, and nothing else.

    OPENAI_BASE_URL=… python benchmarks/bare_loop.py PROMPTS.jsonl MODEL CONCURRENCY

No log, no cache, no retries, no reading of replies; prints how many came.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from openai import AsyncOpenAI, DefaultAioHttpClient


async def main(prompts: list[str], model: str, concurrency: int) -> int:
    """Asks all prompts, ``concurrency`` at a time; returns how many replies had a text."""
    import httpx2

    limits = httpx2.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
    left = iter(prompts)
    answered = 0

    async with AsyncOpenAI(
        max_retries=0, timeout=60, http_client=DefaultAioHttpClient(limits=limits)
    ) as client:

        async def work() -> None:
            nonlocal answered
            for prompt in left:
                done = await client.chat.completions.create(
                    model=model,
                    messages=[{"role": "user", "content": prompt}],
                    max_tokens=512,
                    temperature=0,
                )
                answered += bool(done.choices[0].message.content)

        await asyncio.gather(*(work() for _ in range(concurrency)))
    return answered


if __name__ == "__main__":
    lines = Path(sys.argv[1]).read_text("utf-8").splitlines()
    asked = [json.loads(line)["prompt"] for line in lines]
    print(asyncio.run(main(asked, sys.argv[2], int(sys.argv[3]))))
