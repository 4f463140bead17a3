"""Names that the words around them introduce, in English, Chinese and Korean.

A name that nothing introduces is not found: its owner lists it.
"""

import re

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
