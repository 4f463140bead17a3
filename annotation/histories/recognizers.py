"""Personal data that is recognized by the words around it, and secrets by their form.

Each recognizer is a pattern whose group ``value`` (else the whole match) is the passage, a cheap
test of whether a text can hold it at all, and a check of the value. A wrong passage is hidden until
its owner shows it, a missed one is seen by others: where in doubt, these find more.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Recognizer:
    """One pattern of ``kind``; ``hints`` are casefolded parts of which a text must hold one."""

    kind: str
    rule: str
    pattern: re.Pattern
    hints: tuple[str, ...] = ()
    is_valid: Callable[[str], bool] = lambda value: True


def recognized(text: str, recognizers: Iterable[Recognizer]) -> Iterator[tuple[int, int, str, str]]:
    """Yield (start, end, kind, rule) of all that ``recognizers`` find; passages may overlap."""
    folded = text.casefold()
    for recognizer in recognizers:
        if recognizer.hints and not any(hint in folded for hint in recognizer.hints):
            continue
        group = "value" if "value" in recognizer.pattern.groupindex else 0
        for match in recognizer.pattern.finditer(text):
            if recognizer.is_valid(match.group(group)):
                yield *match.span(group), recognizer.kind, recognizer.rule


# --- Secrets -------------------------------------------------------------------------------------

# By the prefixes that the services document for their keys.
_KEYS = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"sk-[A-Za-z0-9_-]{16,200}|[rs]k_(?:live|test)_[A-Za-z0-9]{16,200}|"
    r"A(?:KI|SI)A[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{22,255}|"
    r"glpat-[A-Za-z0-9_-]{20,60}|xox[abeprs]-[A-Za-z0-9-]{10,200}|AIza[0-9A-Za-z_-]{35}|"
    r"hf_[A-Za-z0-9]{20,60}|npm_[A-Za-z0-9]{30,60}|SG\.[A-Za-z0-9_-]{16,40}\.[A-Za-z0-9_-]{30,60}"
    r")(?![A-Za-z0-9])"
)
_JWT = re.compile(r"(?<![A-Za-z0-9_-])eyJ[\w-]{6,2000}\.eyJ[\w-]{6,4000}\.[\w-]{6,2000}")
_PRIVATE_KEY = re.compile(
    r"-----BEGIN (?P<name>[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?)-----"
    r"[^-]{0,20000}(?:-----END (?P=name)-----)?"
)
_BEARER = re.compile(r"(?i:\bbearer)\s+(?P<value>[A-Za-z0-9._~+/-]{20,2000}=*)")
_SPOKEN_OF = (
    r"(?i:\bpass(?:word|wort|wd|code|phrase)\b|\bpwd\b|\bkennwort\b)|密码|口令|비밀번호|비번|암호"
)
_PASSWORD = re.compile(
    rf"(?:{_SPOKEN_OF})[\"'”]?\s{{0,3}}(?:[:=:]|(?i:\bis\b)|是|为|는|은)\s{{0,3}}"
    r"[\"'“”‘’`]?(?P<value>[!-&(-+\--;=?-~]{4,80})"
)
_TOKEN = re.compile(
    r"(?i:\b(?:api[ _-]?key|access[ _-]?key|secret(?:[ _-]?key)?|(?:access|auth)[ _-]?token|token))"
    r"[\"']?\s{0,3}(?:[:=:]|(?i:\bis\b))\s{0,3}[\"'“`]?(?P<value>[A-Za-z0-9._~+/-]{12,400}=*)"
)
_PIN = re.compile(r"\bPIN\b(?: (?:code|number))?\s{0,2}(?:[:=:]|is)\s{0,2}(?P<value>\d{4,8})(?!\d)")
_NO_PASSWORD = re.compile(
    r"(?i)(?:required|optional|string|str\W*|none|null|true|false|wrong|correct|incorrect|missing|"
    r"invalid|forgotten|protected|safe|strong|weak|reset|hidden|stored|hashed|encrypted|changed|"
    r"not|too|never|always|sent|the|field|input|(?:your|my|the|new|old)[_-]?\w*|x{4,}|\*{4,}|\.{3,}|"
    r"<.*|\{.*|\$\{?.*|\w+\(.*|(?:os|process|self|request|settings|config)\..*)[.,;!?]*"
)


def _is_token(value: str) -> bool:
    return any(sign.isdigit() for sign in value) and any(sign.isalpha() for sign in value)


_PASSWORD_BESIDE = re.compile(
    r"(?:密码|口令)(?P<value>(?=[A-Za-z_!@#]*\d)[A-Za-z0-9_!@#$%&*.-]{6,40})"
)


# --- Postcodes -----------------------------------------------------------------------------------

_STATES = (
    "A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|PA|RI|S[CD]|"
    "T[NX]|UT|V[AT]|W[AIVY]"
)
_POSTCODES = re.compile(
    rf"(?<![A-Za-z0-9])(?:(?:{_STATES}),? \d{{5}}(?:-\d{{4}})?|"
    r"[A-PR-UWYZ][A-HK-Y]?\d[\dA-Z]? \d[ABD-HJLNP-UW-Z]{2}|"
    r"[ABCEGHJ-NPRSTVXY]\d[ABCEGHJ-NPRSTV-Z] \d[ABCEGHJ-NPRSTV-Z]\d|D-\d{5}|〒\s?\d{3}-\d{4})"
    r"(?![A-Za-z0-9])"
)
_POSTCODE_WORDS = re.compile(
    r"(?:(?i:\b(?:zip(?: ?code)?|post ?code|postal code|PLZ|postleitzahl))\b(?: is| of mine is)?|"
    r"邮政编码|邮编|우편번호|\(우\))(?:[:은는是为]|\s){0,3}"
    r"(?P<value>\d{5,6}(?:-\d{4})?(?!\d)|[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2})"
)

# --- Birth dates ---------------------------------------------------------------------------------

_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|"
    r"Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_DATE = (
    rf"(?:(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}(?:,? (?:19|20)\d\d)?|"
    rf"{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? (?:19|20)\d\d)?|"
    r"(?:19|20)\d\d[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-./]\d{1,2}[-./](?:(?:19|20)\d\d|\d\d)(?!\d)|"
    r"(?:(?:19|20)?\d\d\s?[年년]\s?)?\d{1,2}\s?[月월]\s?\d{1,2}\s?[日号일])"
)
_BORN = re.compile(
    r"(?:(?i:\b(?:born|birthday|birth ?date|date of birth|d\.?o\.?b\.?|geboren)\b)"
    r"|生日|出生日期|出生于|出生在|生于|생년월일|생일)"
    rf"[^\n.!?。0-9]{{0,24}}?(?P<value>{_DATE})"
)
_BORN_AFTER = re.compile(
    rf"(?P<value>{_DATE})\s?"
    r"(?:出生|生的|生人|(?:is|was) my birthday|에?\s?태어|생(?=[\s,.은이인]|$))"
)

# --- Handles and profiles ------------------------------------------------------------------------

# What begins with this sign and is no person: decorators, style sheets, documentation.
_AT_WORDS = (
    "media|import|keyframes|font-face|supports|charset|layer|container|page|param|return|returns|"
    "throws|type|see|since|deprecated|override|test|property|staticmethod|classmethod|dataclass|"
    "everyone|here|channel|all|app|pytest|autowired|component|bean|entity|click|change|submit|latest"
)
_HANDLE = re.compile(
    rf"(?<![A-Za-z0-9_./@+-])@(?!(?i:{_AT_WORDS})\b)"
    r"[A-Za-z_][A-Za-z0-9_.]{1,28}[A-Za-z0-9_](?![/@\w(])"
)
_ACCOUNT = re.compile(
    r"(?:(?i:\b(?:instagram|insta|telegram|discord|snapchat|twitter|wechat|skype|kakao(?:talk)?|"
    r"line|qq|steam|reddit|github|user ?name|handle)\b)|微信号?|微博|扣扣|抖音号|小红书号|"
    r"카카오톡|카톡|인스타(?:그램)?|텔레그램|디스코드|트위터)"
    r"\s?(?i:id|handle|name|account|user ?name|号|号码|账号|아이디|계정)?(?:은|는)?"
    r"\s{0,2}(?:[:=:]|(?i:\bis\b)|是|为|叫|(?<=[은는디])\s)\s{0,2}"
    r"(?P<value>[A-Za-z0-9_][A-Za-z0-9_.#-]{2,38}[A-Za-z0-9])"
)
_PROFILE = re.compile(
    r"(?<![A-Za-z0-9_@.])(?:https?://)?(?:www\.|m\.)?(?:"
    r"(?:[a-z]{2,3}\.)?linkedin\.com/in/[\w%.-]{2,100}|"
    r"(?:instagram|facebook|twitter|x|snapchat)\.com/(?!(?:p|reel|watch|share|search|hashtag|home|"
    r"explore|login|groups|events|i|intent|legal|help)(?:[/?\s]|$))(?:add/)?[\w.-]{2,50}"
    r"(?:/status/\d+)?|"
    r"t\.me/(?!s/)[\w]{3,40}|(?:weibo|douyin)\.com/(?:u/|user/|n/)?[\w-]{3,80}|"
    r"zhihu\.com/people/[\w-]{2,60}|space\.bilibili\.com/\d{3,20}|"
    r"xiaohongshu\.com/user/profile/\w+|"
    r"blog\.naver\.com/[\w-]{2,40}|velog\.io/@[\w.-]{2,40}|brunch\.co\.kr/@[\w.-]{2,40}|"
    r"(?:tiktok|youtube|medium|threads)\.(?:com|net)/@[\w.-]{2,60}|"
    r"reddit\.com/(?:u|user)/[\w-]{2,40}|"
    r"github\.com/(?!(?:features|about|pricing|login|topics|explore|orgs|search|marketplace)\b)"
    r"[A-Za-z0-9-]{2,39}(?![A-Za-z0-9-]*/[\w.-])|"
    r"gitee\.com/[A-Za-z0-9_-]{2,39}(?![A-Za-z0-9_-]*/[\w.-]))/?",
    re.IGNORECASE,
)

# Secrets and profiles: no other rule may take a part of these.
FIRST = (
    Recognizer("secret", "private key", _PRIVATE_KEY, ("private key",)),
    Recognizer("secret", "key by its prefix", _KEYS),
    Recognizer("secret", "json web token", _JWT, ("eyj",)),
    Recognizer("secret", "bearer token", _BEARER, ("bearer",)),
    Recognizer(
        "secret",
        "password",
        _PASSWORD,
        ("pass", "pwd", "kennwort", "密码", "口令", "비밀번호", "비번", "암호"),
        lambda value: not _NO_PASSWORD.fullmatch(value),
    ),
    Recognizer("secret", "password", _PASSWORD_BESIDE, ("密码", "口令")),
    Recognizer("secret", "token", _TOKEN, ("key", "token", "secret"), _is_token),
    Recognizer("secret", "pin", _PIN, ("pin",)),
    Recognizer("profile", "profile address", _PROFILE, ("/",)),
)
# Names that the words around them introduce, in English, Chinese and Korean. A name that nothing
# introduces is not found: its owner lists it.

_BIG, _SMALL = "A-ZÀ-ÖØ-Þ", "a-zà-öø-ÿ"
_CAP = rf"(?:[{_BIG}]['’])?[{_BIG}][{_SMALL}]{{1,20}}(?:[-'’][{_BIG}]?[{_SMALL}]{{1,20}})?"
_TITLE = r"(?:(?:Mr|Ms|Mrs|Dr|Prof)\.? )?"
_PARTICLES = r"de|van|von|bin|al|da|la"
_FULL = (
    rf"{_CAP}(?: (?:{_CAP}|[A-Z]\.(?= [A-Z])|{_PARTICLES})){{0,3}}"
    r"(?<![a-z] de)(?<! van)(?<! von)"
)
_IM = re.compile(
    rf"\b(?:I['’]m|[Ii] am|I['’]m called|[Cc]all me|[Tt]his is) "
    rf"(?P<value>{_TITLE}{_FULL})(?!['’]s\b)(?! (?:University|Street|Airport|Day|Festival|Inc|Ltd))"
)
_MY_NAME = re.compile(
    rf"\b(?i:my (?:full |real |first |last |given |maiden )?name(?:['’]s| is)"
    rf"|(?:full |first |last )?name:|\bsigned,?\s)\s?"
    rf"(?P<value>{_FULL}|[a-z]{{3,15}}(?: [a-z]{{3,15}})?)"
)
_RELATIVE = re.compile(
    r"\b(?:my|My|our|Our) (?:\w{1,12} )?(?:wife|husband|son|daughter|brother|sister|mother|father|"
    r"mom|mum|dad|friend|boss|manager|colleague|boyfriend|girlfriend|partner|teacher|neighbou?r|"
    r"cousin|uncle|aunt|roommate|flatmate|doctor|dog|cat|baby|fianc[ée]e?)"
    rf"(?:['’]s name is|,? (?:is )?(?:called|named)|,)? (?P<value>{_CAP}(?: {_CAP})?)"
)
_GREETING = re.compile(
    rf"(?:\b(?:Dear|Hi|Hello|Hey) )(?P<value>{_TITLE}{_CAP}(?: {_CAP})?)"
    r"(?=[,!:\n])"
)
_SIGNATURE = re.compile(
    r"(?:\b[Rr]egards|\bSincerely|\bBest(?: wishes)?|\bCheers|\bYours(?: truly| sincerely)?|"
    rf"\b[Tt]hanks|\bThank you|\bLove),?[ \t]*\n\s*(?P<value>{_CAP}(?: (?:{_CAP}|[A-Z]\.)){{0,2}})"
    r"[ \t]*(?=\n|$)"
)
_NO_NAME_WORDS = """
    American British English Scottish Irish Welsh Canadian Australian German French Italian
    Spanish Portuguese Dutch Belgian Swiss Austrian Polish Czech Russian Ukrainian Turkish Greek
    Swedish Norwegian Danish Finnish Hungarian Romanian Chinese Korean Japanese Vietnamese Thai
    Indian Pakistani Indonesian Filipino Taiwanese Mexican Brazilian African European Asian
    Latino Latina Arab Persian Iranian Israeli Egyptian Nigerian Kenyan Muslim Christian
    Catholic Jewish Buddhist Hindu Protestant Python Java React Linux Windows Android Excel Word
    Google Apple Amazon Microsoft Docker Kubernetes Monday Tuesday Wednesday Thursday Friday
    Saturday Sunday January February March April June July August September October November
    December Sorry Not Just Very So Also Now Still Trying Looking Using Working Going Happy Sad
    Tired Vegan Gemini Claude Siri Alexa Copilot Bard There All Everyone Team Sir Madam
    Everybody Folks Friends Guys Christmas Easter Please Thanks Assistant World The My Our Your
    Its It's What How Why Where When Who Is Are Can Do If Here Too Only
"""
_NO_NAME = frozenset(_NO_NAME_WORDS.split())
_NO_LOWER_WORDS = """
    not too on in a an the it is as my so pretty very common unusual often always never spelled
    also wrong missing hard used taken already unique listed only written mentioned misspelled
    required optional unknown from to
"""
_NO_LOWER = frozenset(_NO_LOWER_WORDS.split())


def _is_name(value: str) -> bool:
    words = [word for word in value.split() if not word.endswith(".")]
    if value.islower():
        return not _NO_LOWER & set(words)
    return bool(words) and words[0] not in _NO_NAME


_SURNAMES = (
    "欧阳|司马|上官|诸葛|东方|皇甫|尉迟|公孙|慕容|司徒|夏侯|"
    "[王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕"
    "丁任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武"
    "戴莫孔向汤常温康施文牛樊葛邢安齐易乔伍庞颜倪庄聂章鲁岳翟殷詹申欧耿关兰焦俞左柳甘祝包宁尚符舒阮柯纪梅童凌毕单季裴霍涂成苗谷盛曲翁冉骆蓝路游辛靳管柴蒙鲍华喻祁蒲房滕屈饶解牟艾尤阳时穆农司卓古吉缪简车项连芦麦褚娄窦戚岑景党宫费卜冷晏席卫米柏宗瞿桂全佟应臧闵苟邬边卞姬师和仇栾隋商刁沙荣巫寇桑郎甄丛仲虞敖巩明佘池查麻苑迟邝]"
)  # fmt: skip
_ZH_END = (
    r"(?=[,。!?、;:,.!?;:\s\"'“”‘’()()]|$|今年|来自|是|在|住|的|和|从|现|想|同学|老师|先生|女士|"
    r"一名|一个|毕业|平时|最近|目前|刚|家|有|没|喜欢|打算|准备|这|那|请|您|你|要|需|说|去|跟|给|帮|把)"
)
_ZH_CALLED = re.compile(
    rf"(?:我叫做?|我的(?:名字|姓名|全名)(?:叫做?|是|为)|本人(?:叫|姓名)|姓名[::]\s?|我姓名是|叫我)\s?"
    rf"(?P<value>(?:{_SURNAMES})[\u4e00-\u9fff]{{1,2}}?{_ZH_END}|(?:{_SURNAMES})[\u4e00-\u9fff]{{2}}|"
    rf"小[\u4e00-\u9fff]{_ZH_END}|[\u4e00-\u9fff]{{2}}{_ZH_END}|{_CAP}(?: {_CAP})?)"
)
# "I, NAME, apply": a surname stands first, and the sentence goes on behind a comma.
_ZH_SELF = re.compile(rf"本人(?P<value>(?:{_SURNAMES})[\u4e00-\u9fff]{{1,2}})(?=[,,。\s]|$)")
_ZH_IM = re.compile(
    rf"(?<![\u4e00-\u9fff])(?:我是|这是|这里是)(?P<value>(?:{_SURNAMES})[\u4e00-\u9fff]{{1,2}}?)"
    r"(?=[,。!?、,.!?\s]|$|今年|来自|同学|老师|先生|女士)"
)
_ZH_RELATIVE = re.compile(
    r"我?(?:妻子|老婆|丈夫|老公|儿子|女儿|哥哥|姐姐|弟弟|妹妹|妈妈|爸爸|母亲|父亲|朋友|同事|老板|经理|"
    r"男友|女友|男朋友|女朋友|室友|邻居|老师|同学|闺蜜|导师)(?:的(?:名字|猫|狗))?(?:名叫|叫做?|是)\s?"
    rf"(?P<value>(?:{_SURNAMES})[\u4e00-\u9fff]{{1,2}}?{_ZH_END}|小[\u4e00-\u9fff]{_ZH_END}|([\u4e00-\u9fff])\2|{_CAP})"
)
_ZH_NO_NAME = re.compile(
    "程序|高[中一二三级考校]|任何|单[身亲位]|方便|金牌|平面|全职|党员|安[全卓]|文科|理科|计[算划]|马上|南方|"
    "房东|华[人侨]|游[戏客]|温州|江[苏西]|宁波|成[都年]|经[理济]|项目|常[年用]|司机|应[届该]|老|农[民村]|"
    "武汉|广|和|师[范傅]|时[候间]|明天|解|边|路人|严重|易|白[领天]|海|于|向|何[时人]|管理|古[典代]|"
    "车|时|全|成|简单|文[员案]|商[人务]|包[括含]|施工|连|冷|康复|关于|关|左|尤其|应"
)


def _is_chinese_name(value: str) -> bool:
    # "I am a person from Anhui": no name ends so.
    return not (_ZH_NO_NAME.match(value) or value.endswith("人"))


_KO_SURNAMES = (
    "[김이박최정강조윤장임한오서신권황안송류전홍고문양손배백허유남심노하곽성차주우구민진나지엄채원천방공현"
    "함변염여추도소석선설마길연위표명기반왕금옥육인맹제모탁국어은편용]|남궁|황보|제갈|선우|독고"
)
_KO_END = (
    r"(?=(?:이?라고|입니다|이에요|예요|이야|이고|이며|인데|이라|씨|님|양|군|[은는이가을를과와도의]|"
    r"에게|한테|하고|랑)?(?:[\s,.!?~]|$))"
)
_KO_NAME = rf"(?:{_KO_SURNAMES})[가-힣]{{1,2}}?"
_KO_CALLED = re.compile(
    rf"(?:제|내|저의|나의|본인)\s?(?:이름|성함|본명)(?:은|이|:)?\s?(?P<value>[가-힣]{{2,4}}?){_KO_END}"
)
_KO_SAY = re.compile(
    r"(?:저는|나는|전|난|저,)\s(?P<value>[가-힣]{2,4}?)(?=이?라고\s?(?:합니다|해요|해|불러|하는|부릅|하고))"
)
_KO_IM = re.compile(
    rf"(?:저는|나는|저,|안녕하세요,?|여보세요,?)\s(?P<value>(?:{_KO_SURNAMES})[가-힣]{{2}})"
    r"(?=(?:입니다|이에요|예요|이고|인데|이라고|라고|이야))"
)
_KO_RELATIVE = re.compile(
    r"(?:아내|남편|아들|딸|형|누나|오빠|언니|동생|엄마|아빠|어머니|아버지|친구|동료|사장|팀장|과장|부장|"
    r"남자친구|여자친구|룸메이트|선생|교수|이웃)(?:님|의)?(?:\s이름은)?,?\s"
    rf"(?P<value>{_KO_NAME}){_KO_END}"
)
_KO_FIELD = re.compile(rf"(?:이름|성명|성함)\s?[:]\s?(?P<value>[가-힣]{{2,4}}?){_KO_END}")
_KO_NO_NAME = re.compile(
    "한국인|중국인|외국인|공무원|신입생|신입사원|연구원|변호사|기획자|유학생|선생님|문과생|이과생|취준생|"
    "고등학|대학|직장인|회사원|전업|주부|간호사|개발자|디자이|학생|임산부|이번|이미|지금|정말|조금|하지만|"
    "우리|여기|그냥|오늘|이제|요즘|혼자|항상|아직|한번|조용|이름|너무|다시|모르|어제|내일|전화|여행|도서|"
    "이상|하루|자주|고민|원래|문제|기본|소개|연락|추천|모두|주말|이사|차를|집에|같이|하고|있|없|안|못|"
    "유치원|고양이|강아지|선물|생일|결혼|이야|이혼|부모|현재|최근|전부|진짜|여자|남자|사람|이게|이건|제가|"
    "회의|의사|연습|함께|서울|부산|인천|제주|대구|광주|미국|일본|중국|독일|영국|프랑"
)


def _is_korean_name(value: str) -> bool:
    return not _KO_NO_NAME.match(value)


INTRODUCTIONS = (
    ("introduction", _IM, ("i'm", "i’m", "i am", "call me", "this is"), _is_name),
    ("introduction", _MY_NAME, ("name", "signed"), _is_name),
    ("relative", _RELATIVE, ("my ", "our "), _is_name),
    ("greeting", _GREETING, ("dear", "hi ", "hello", "hey"), _is_name),
    ("signature", _SIGNATURE, ("\n",), _is_name),
    ("introduction", _ZH_CALLED, ("叫", "姓名", "名字", "本人", "全名"), _is_chinese_name),
    ("introduction", _ZH_SELF, ("本人",), _is_chinese_name),
    ("introduction", _ZH_IM, ("是",), _is_chinese_name),
    ("relative", _ZH_RELATIVE, ("叫", "是"), _is_chinese_name),
    ("introduction", _KO_CALLED, ("이름", "성함", "본명"), _is_korean_name),
    ("introduction", _KO_SAY, ("라고",), _is_korean_name),
    ("introduction", _KO_IM, ("저는", "나는", "저,", "안녕", "여보세요"), _is_korean_name),
    ("relative", _KO_RELATIVE, (), _is_korean_name),
    ("field", _KO_FIELD, ("이름", "성명", "성함"), _is_korean_name),
)

RECOGNIZERS = (
    Recognizer(
        "birthday",
        "birth date",
        _BORN,
        ("born", "birth", "d.o.b", "dob", "geboren", "生", "생"),
    ),
    Recognizer("birthday", "birth date", _BORN_AFTER, ("birthday", "生", "생", "태어")),
    Recognizer("postcode", "postcode by its form", _POSTCODES),
    Recognizer(
        "postcode", "postcode by its word", _POSTCODE_WORDS, ("zip", "post", "plz", "邮", "우")
    ),
    Recognizer("handle", "handle", _HANDLE, ("@",)),
    Recognizer("handle", "account name", _ACCOUNT),
    *(Recognizer("name", *entry) for entry in INTRODUCTIONS),
)
