"""Sends prompts with the official OpenAI client only, the fastest case for ``bench_runner.py``.

    OPENAI_BASE_URL=… python benchmarks/bare_loop.py PROMPTS.jsonl MODEL CONCURRENCY

It uses aiohttp and a bounded number of tasks, but no log, cache, retries or parsing of replies. It
prints the number of replies.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from openai import AsyncOpenAI, DefaultAioHttpClient


async def main(prompts: list[str], model: str, concurrency: int) -> int:
    """Sends all prompts, ``concurrency`` at a time; returns the number of replies with a text."""
    import httpx2

    limits = httpx2.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
    remaining_prompts = iter(prompts)
    reply_count = 0

    async with AsyncOpenAI(
        max_retries=0, timeout=60, http_client=DefaultAioHttpClient(limits=limits)
    ) as client:

        async def ask_prompts() -> None:
            nonlocal reply_count
            for prompt in remaining_prompts:
                completion = await client.chat.completions.create(
                    model=model,
                    messages=[{"role": "user", "content": prompt}],
                    max_tokens=512,
                    temperature=0,
                )
                reply_count += bool(completion.choices[0].message.content)

        await asyncio.gather(*(ask_prompts() for _ in range(concurrency)))
    return reply_count


if __name__ == "__main__":
    lines = Path(sys.argv[1]).read_text("utf-8").splitlines()
    all_prompts = [json.loads(line)["prompt"] for line in lines]
    print(asyncio.run(main(all_prompts, sys.argv[2], int(sys.argv[3]))))
