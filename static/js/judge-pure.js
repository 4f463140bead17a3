// What the judging page computes without its document: words, differences, places in a text, and
// which draft counts. tests/browser/test_judge_pure.py calls these functions one by one.
const JudgePure = (function () {
  "use strict";

  const DIFFERENCES = 2000;
  const LONGEST = 60000;
  const TECHNICAL = ["csrfmiddlewaretoken", "slot", "key", "seconds", "circumstances", "submit", "change"];

  // --- Drafts ---

  // {name: values} of a form's [name, value] pairs, without those that are no part of the answer.
  function answered(pairs) {
    const values = {};
    for (const [name, value] of pairs) {
      if (!TECHNICAL.includes(name)) (values[name] = values[name] || []).push(value);
    }
    return values;
  }

  // Milliseconds until an answer that found no line is sent again, after so many tries.
  function patience(tries) {
    return Math.min(500 * 2 ** tries, LONGEST);
  }

  // This browser's copy, or null: ticks were kept here alone while the server had no draft, so
  // that what the server has by now is newer.
  function newest(text, drafted) {
    const copy = JSON.parse(text);
    return copy.ticks && drafted ? null : copy;
  }

  // --- Words of a text ---

  const COMMON = new Set(("about also and any are both but can each for from has have her his into just like likes more most much not often "
    + "only other over prefers she some such than that the their them then there they this time very well when where which who with would").split(" "));
  const WIDE = /\p{Script=Han}|\p{Script=Hangul}|\p{Script=Hiragana}|\p{Script=Katakana}/u;

  function wordsOf(text) {
    return [...new Intl.Segmenter(undefined, { granularity: "word" }).segment(text)].filter((part) => part.isWordLike)
      .map((part) => ({ text: part.segment.toLowerCase(), at: part.index, length: part.segment.length }));
  }

  // Equal, or one begins with the other, as "cycle" and "cycles" or a Korean noun and its particle.
  function alike(a, b) {
    const [short, long] = a.length < b.length ? [a, b] : [b, a];
    return a === b || (short.length >= (WIDE.test(short) ? 2 : 5) && long.startsWith(short));
  }

  // The words of a trait that tell something: long enough, and not common.
  function telling(text) {
    return wordsOf(text).map((word) => word.text)
      .filter((word) => word.length >= (WIDE.test(word) ? 2 : 3) && !COMMON.has(word));
  }

  // Words by the reader's browser, so that Chinese and Korean have them too.
  function parts(text) {
    return [...new Intl.Segmenter(undefined, { granularity: "word" }).segment(text)].map((part) => part.segment);
  }

  // The shortest edit script from one list of words to another (Myers' greedy algorithm), as
  // [["=" | "-" | "+", text], …]; null where more than DIFFERENCES words would change.
  function differences(a, b) {
    let head = 0;
    while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
    let tail = 0;
    while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
    const middle = edits(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
    return middle && join([...a.slice(0, head).map((word) => ["=", word]), ...middle, ...a.slice(a.length - tail).map((word) => ["=", word])]);
  }

  function edits(a, b) {
    const most = Math.min(a.length + b.length, DIFFERENCES);
    const far = new Int32Array(2 * most + 3);
    const steps = [];
    for (let d = 0; d <= most; d += 1) {
      steps.push(far.slice(most - d, most + d + 3));
      for (let k = -d; k <= d; k += 2) {
        const down = k === -d || (k !== d && far[most + k] < far[most + k + 2]);
        let x = down ? far[most + k + 2] : far[most + k] + 1;
        while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
        far[most + k + 1] = x;
        if (x >= a.length && x - k >= b.length) return trace(a, b, steps);
      }
    }
    return null;
  }

  // From the end back to the start; steps[d] is the frontier before the d-th edit, from k = -d-1 on.
  function trace(a, b, steps) {
    const script = [];
    let x = a.length;
    let y = b.length;
    for (let d = steps.length - 1; d >= 0; d -= 1) {
      const far = (k) => steps[d][k + d + 1];
      const k = x - y;
      const before = k === -d || (k !== d && far(k - 1) < far(k + 1)) ? k + 1 : k - 1;
      const fromX = far(before);
      const fromY = fromX - before;
      while (x > fromX && y > fromY) { x -= 1; y -= 1; script.push(["=", a[x]]); }
      if (d > 0) script.push(x === fromX ? ["+", b[fromY]] : ["-", a[fromX]]);
      x = fromX;
      y = fromY;
    }
    return script.reverse();
  }

  function join(script) {
    const joined = [];
    script.forEach(([sign, text]) => {
      const last = joined[joined.length - 1];
      if (last && last[0] === sign) last[1] += text;
      else joined.push([sign, text]);
    });
    return joined;
  }

  // --- Places in a text: a string counts UTF-16 units, the server characters ---

  const points = (text, units) => [...text.slice(0, units)].length;
  const units = (text, count) => [...text].slice(0, count).join("").length;

  return { TECHNICAL, answered, patience, newest, wordsOf, alike, telling, parts, differences, points, units };
})();
