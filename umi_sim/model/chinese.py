"""Chinese: what a text without spaces mentions and refers to, by a frozen lexicon and the longest match.

Law 1. A run of characters that is in no table is a name; the lexicon holds what is none. Law 2. One pass.
"""

import re
from itertools import pairwise
from typing import Final

import attrs

from umi_sim.model.mentions import Mention
from umi_sim.model.references import Reference

PIECE_CHARS_MAX: Final = 4
NAME_CHARS_MAX: Final = 12

OTHERS: Final = frozenset(  # function words, verbs, adverbs, times, adjectives: they end a name
    "的 了 吗 呢 吧 啊 呀 哦 嗯 着 过 得 地 是 在 有 没 没有 不 不是 不会 不能 不想 也 都 就 才 还 还是 又 "
    "再 很 太 真 最 更 非常 特别 比较 和 跟 与 或 或者 但 但是 可是 因为 所以 如果 虽然 然后 而且 不过 那么 "
    "这么 这样 那样 怎么样 怎么 怎样 什么 什么时候 为什么 谁 哪 哪里 哪儿 哪个 几 几点 多少 多久 多大 我 你 "
    "您 他 她 它 我们 你们 他们 她们 它们 咱们 大家 自己 别人 这 那 这个 那个 这些 那些 这里 那里 这儿 那儿 "
    "这件 那件 这件事 那件事 此 其 其他 把 被 给 让 叫 对 对了 向 往 从 到 为 为了 以 以后 以前 之前 之后 前 "
    "后 上 下 里 中 外 内 旁边 附近 对面 一 两 二 三 四 五 六 七 八 九 十 百 千 万 半 个 位 件 份 台 本 张 "
    "条 家 间 辆 部 次 场 顿 杯 只 双 块 元 号 点 分 点半 分钟 小时 天 周 星期 月 年 今天 明天 昨天 后天 "
    "前天 今晚 昨晚 明晚 早上 上午 中午 下午 晚上 周末 上周 下周 这周 本周 上个月 下个月 去年 明年 今年 周一 "
    "周二 周三 周四 周五 周六 周日 现在 刚才 刚刚 刚 马上 最近 已经 一直 总是 经常 可能 应该 可以 能 会 要 "
    "想 想要 需要 必须 得到 打算 准备 希望 觉得 认为 知道 记得 忘了 忘记 告诉 说 说过 说了 讲 讲了 问 问问 "
    "提到 提过 提 谈 谈到 讨论 聊 聊聊 聊了 通知 提醒 介绍 解释 回答 回复 发 发了 发给 寄 寄来 送 送给 拿 带 "
    "带来 买 买了 卖 花了 付 付款 租 租了 订 订了 预订 预定 取消 推迟 延期 提前 改 改到 改成 修 修好 修复 坏 "
    "坏了 出 出了 出现 发生 做 做了 做完 写 写完 写了 看 看了 看到 看过 读 听 听说 听到 用 用了 去 去了 来 "
    "来了 来自 回 回来 回家 走 走了 离开 到了 到达 出发 出差 旅行 起飞 降落 搬 搬到 搬家 住 住在 工作 上班 "
    "下班 开始 结束 完成 上线 部署 发布 更新 升级 测试 检查 打开 关闭 安装 删除 运行 报错 崩溃 失败 成功 "
    "喜欢 爱 讨厌 想念 认识 见 见了 见面 见到 遇到 帮 帮忙 帮我 请 请问 谢谢 你好 好 好的 好吧 好了 行 不行 "
    "可惜 抱歉 对不起 没关系 再见 早安 晚安 当然 不错 很好 不好 漂亮 好吃 好看 便宜 贵 大 小 多 少 新 旧 高 "
    "低 快 慢 早 晚 忙 累 高兴 开心 难过 生气 生病 感冒 住院 受伤 结婚 毕业 出生 去世 换 换了 选 选了 找 "
    "找到 等 等等 打 打电话 接 负责 参加 邀请 安排 决定 同意 拒绝 批准 签 签了 签字 交 交给 提交 通过 考 学 "
    "学习 教 玩 吃 喝 做饭 跑 开 开车 坐 停 停在 放 放在 丢 丢了 掉 养 养了 叫做 起来 下来 出来 进去 一下 "
    "一起 一个 一台 一份 一本 一家 一次 一位 一只 一条 一辆 一张 一些 一点 有点 点儿 完 完了 吧台 让我 需 若 "
    "关于 有关 至于 以及 并 并且 就是 只是 正在 正 将 将要 快要 终于 突然 其实 真的 确实 大概 大约 左右 "
    "差不多 全部 所有 每 每天 每周 某 另 另外 同样 一样 一样的 先 顺便 别 不要 不用 放心 注意 小心 加油 恭喜 "
    "辛苦 辛苦了 麻烦 怎么办 行吗 好吗 对吗 是吗 吗？ 呗 嘛 啦 哈哈 哎 唉 推荐 喜欢吃 便 由 于 比 像 当 使 "
    "令 及 去过 来过 想去 要去 买到 收到 拿到 取 取了 还给 借 借了 借给 弄 弄丢 生 病 病了 会来 太好了 没事 "
    "明白 清楚 迟到 到期 过期 涨价 降价 打折 满意 生效 有空 没空 空 远 近 难 容易 重要 紧急 严重 奇怪 有趣 "
    "无聊".split()
)
MALES: Final = frozenset(
    "爸爸 父亲 爸 哥哥 弟弟 爷爷 外公 叔叔 舅舅 儿子 丈夫 老公 男朋友 男友 表哥 表弟 堂哥 姐夫 岳父 孙子 "
    "先生".split()
)
FEMALES: Final = frozenset(
    "妈妈 母亲 妈 姐姐 妹妹 奶奶 外婆 阿姨 姑姑 女儿 妻子 老婆 女朋友 女友 表姐 表妹 堂姐 嫂子 岳母 孙女 "
    "太太 女士 小姐".split()
)
PERSONS: Final = frozenset(
    "老板 同事 室友 朋友 老师 医生 经理 邻居 房东 客户 教练 律师 同学 导师 主任 教授 司机 护士 助理 师傅 "
    "总监 校长 店员 设计师 工程师 孩子 宝宝 合伙人 会计 牙医".split()
)
GROUPS: Final = frozenset(
    "父母 爸妈 孩子们 朋友们 同事们 团队 双胞胎 客人 家人 邻居们 学生们 爷爷奶奶 大家庭 客人们".split()
)
TITLES: Final = frozenset(
    "老师 医生 经理 先生 女士 小姐 总 教授 主任 律师 阿姨 叔叔 师傅 工 姐 哥 博士 教练 太太 总监 护士".split()
)
PLACES: Final = frozenset(
    "北京 上海 广州 深圳 杭州 成都 南京 西安 武汉 重庆 苏州 厦门 青岛 大连 天津 香港 台北 东京 大阪 京都 "
    "首尔 新加坡 曼谷 巴黎 伦敦 纽约 云南 昆明 大理 丽江 三亚 海南 桂林 西藏 日本 韩国 泰国 法国 英国 美国 "
    "德国 意大利".split()
)
PLACE_ENDS: Final = (
    "酒店 餐厅 饭店 咖啡馆 图书馆 医院 学校 大学 公司 办公室 机场 车站 火车站 公园 超市 商店 博物馆 健身房 "
    "民宿 酒吧 书店 家 山 湖 寺 岛 海边 会议室 宾馆 诊所 火锅店 面馆 店".split()
)
SURNAMES: Final = frozenset(
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何林高罗郑梁谢宋唐许韩冯邓曹彭曾肖田董潘袁蔡蒋余于杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石"
    "廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤"
)
AND: Final = frozenset("和跟与")
HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
LATIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+#-]*(?: [A-Z0-9][A-Za-z0-9.+#-]*)*")
QUOTED: Final = re.compile('[《「『“"【]([^》」』”"】\n]{1,30})[》」』”"】]')


@attrs.frozen
class Piece:
    """A word of the lexicon, a run of unknown characters, or a word in other letters."""

    text: str
    start: int
    kind: str  # other, person, group, place, name, latin, stop

    @property
    def end(self) -> int:
        return self.start + len(self.text)


LEXICON: Final[dict[str, str]] = {
    **dict.fromkeys(sorted(OTHERS), "other"), **dict.fromkeys(sorted(PERSONS | MALES | FEMALES), "person"),
    **dict.fromkeys(sorted(GROUPS), "group"), **dict.fromkeys(sorted(PLACES), "place"),
}  # fmt: skip


def pieces(text: str) -> list[Piece]:
    """The text cut from left to right at the longest words of the lexicon; unknown neighbours join."""
    found: list[Piece] = []
    at = 0
    while at < len(text):
        if match := LATIN.match(text, at):
            found.append(Piece(match[0], at, "latin"))
        elif not HAN.match(text[at]):
            found.append(Piece(text[at], at, "stop"))
        else:
            lengths = range(PIECE_CHARS_MAX, 0, -1)
            length = next((n for n in lengths if text[at : at + n] in LEXICON and at + n <= len(text)), 0)
            kind = LEXICON[text[at : at + length]] if length else "name"
            if kind == "name" and found and found[-1].kind == "name":
                found[-1] = attrs.evolve(found[-1], text=found[-1].text + text[at])
            else:
                found.append(Piece(text[at : at + max(1, length)], at, kind))
        at = found[-1].end
    return found


def mentions(text: str) -> list[Mention]:
    """What a text mentions, by place; two with an `and` between them are one more."""
    found = [Mention(match[1], match.start(), match.end(), "thing") for match in QUOTED.finditer(text)]
    cut = pieces(text)
    at = 0
    while at < len(cut):
        at, mention = mention_at(cut, at)
        if mention is not None:
            found.append(mention)
    found.sort(key=lambda mention: (mention.start, mention.end))
    both = [
        Mention(text[left.start : right.end], left.start, right.end, "group", "", True)
        for left, right in pairwise(found)
        if left.kind == right.kind == "person" and text[left.end : right.start] in AND
        and right.start - left.end == 1
    ]  # fmt: skip
    return found + both


def mention_at(cut: list[Piece], at: int) -> tuple[int, Mention | None]:
    """The mention that begins with this piece, and the place behind it."""
    piece = cut[at]
    if piece.kind in ("other", "stop"):
        if piece.text in "小老阿" and at + 1 < len(cut) and cut[at + 1].kind == "name":
            name = piece.text + cut[at + 1].text[:1]
            if name[1] in SURNAMES or piece.text == "阿":
                return at + 2, Mention(name, piece.start, piece.start + 2, "person")
        return at + 1, None
    if piece.kind == "person":
        before = cut[at - 1].text if at else ""
        start = piece.start - 1 if before in ("我", "你") else piece.start
        gender = "m" if piece.text in MALES else "f" if piece.text in FEMALES else ""
        return at + 1, Mention(
            (before if start < piece.start else "") + piece.text, start, piece.end, "person", gender
        )
    if piece.kind == "group":
        return at + 1, Mention(piece.text, piece.start, piece.end, "group", "", True)
    is_surname = piece.kind == "name" and piece.text[0] in SURNAMES
    return (person_at(cut, at) if is_surname else None) or thing_at(cut, at)


def person_at(cut: list[Piece], at: int) -> tuple[int, Mention] | None:
    """A surname with a title, or with one or two characters."""
    piece = cut[at]
    follower = cut[at + 1] if at + 1 < len(cut) else None
    if len(piece.text) == 1 and follower is not None and follower.text in TITLES:
        gender = "m" if follower.text in MALES | {"哥"} else "f" if follower.text in FEMALES | {"姐"} else ""
        return at + 2, Mention(piece.text + follower.text, piece.start, follower.end, "person", gender)
    for title in sorted(TITLES):
        if piece.text[1:] == title:
            return at + 1, Mention(piece.text, piece.start, piece.end, "person")
    if len(piece.text) in (2, 3):
        return at + 1, Mention(piece.text, piece.start, piece.end, "person")
    return None


def thing_at(cut: list[Piece], at: int) -> tuple[int, Mention | None]:
    """Names, places and words in other letters that stand together, as one thing."""
    end = at
    while end < len(cut) and cut[end].kind in ("name", "latin", "place"):
        end += 1
    start, text = cut[at].start, "".join(piece.text for piece in cut[at:end])
    if len(text) < 2 or (len(text) > NAME_CHARS_MAX and not LATIN.fullmatch(text)) or text.isdigit():
        return end, None
    is_place = cut[end - 1].kind == "place" or text.endswith(tuple(PLACE_ENDS))
    return end, Mention(text, start, start + len(text), "place" if is_place else "thing")


# References.

TERMS: Final = re.compile(
    "其他|其它|吉他|(?P<group>他们|她们)|(?P<things>它们|这些|那些)|(?P<m>他)|(?P<f>她)|(?P<it>它)"
    "|(?P<matter>这件事|那件事)|(?P<place>这里|那里|那儿|这儿)|(?P<that>这个|那个|[这那](?=[台份家本辆部次]))"
)
ROLES: Final = {
    "group": ("group", ""), "things": ("things", ""), "m": ("person", "m"), "f": ("person", "f"),
    "it": ("thing", ""), "matter": ("thing", ""), "place": ("place", ""), "that": ("thing", ""),
}  # fmt: skip


def references(query: str) -> list[Reference]:
    """The references of a query by place."""
    found = []
    for match in TERMS.finditer(query):
        if match.lastgroup is not None:
            role, gender = ROLES[match.lastgroup]
            noun = noun_at(query, match.end()) if match.lastgroup in ("that", "things") else ""
            found.append(Reference(match.start(), match.end(), role, gender, "object", noun))
    return found


def noun_at(query: str, at: int) -> str:
    """The noun behind a demonstrative, if it is one that is in no table."""
    cut = pieces(query[at : at + NAME_CHARS_MAX])
    return cut[0].text if cut and cut[0].kind in ("name", "latin", "place", "person") else ""
