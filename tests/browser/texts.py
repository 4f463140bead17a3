"""Texts that try a page: long, short, Chinese and Korean, code, a wide table."""

LONG = "\n\n".join(f"**Step {n}.** " + "Walk along the river to the mill. " * 12 for n in range(20))
MIXED = """## 第一周

根据您的情况，我建议先从每天二十分钟的散步开始，然后再逐步增加强度。您喜欢安静的环境。

아침에는 가볍게 걷고 저녁에는 충분히 쉬는 것이 좋습니다. 무리하지 말고 몸의 신호에 귀를 기울이세요.

```python
def plan(day: int, minutes: int = 30) -> list[str]:
    return [f"day {day}: {what}" for what in ("walk", "read", "stretch") if minutes > len(what)]
```

| Day | Morning | Noon | Afternoon | Evening | Night | Cost |
|---|---|---|---|---|---|---|
| Monday | a slow walk | rice and greens | reading | stretching | sleep by ten | 0 |

> A plan that survives the first week survives the month.
"""
PROFILE = {
    "Occupation": "night-shift nurse " * 15,
    "Lifestyle": {"Food_Drinks": "no hazelnuts", "Sports": {"Now": "none", "Before": "swimming"}},
    "Languages": ["한국어", "一点中文"],
    "Page": "https://example.org/" + "a-long-address-without-a-space/" * 6,
}
QUERY = "I cannot sleep after a night shift. What could I do that wakes nobody? " * 4
NEED = "Something that **calms** her and fits into a small flat."
