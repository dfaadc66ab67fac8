// Order of search results: pages that answer a user's question before reference, notes and history.
const WEIGHTS = [
  [/^guides\/faq$/, 14],
  [/^(tutorials|guides)\//, 12],
  [/^explanation\//, 8],
  [/^nptrace\//, 2],
  [/^reference\/(conventions|commands|glossary)$/, 6],
  [/^research\//, -6],
  [/^(changelog|release|contributing|architecture|research\/first-hour)$/, -14],
];

// Questions may be typed as sentences: these words are on few pages, and all other words of a search must be on a page.
const QUESTION_WORDS = new Set(
  "how do does did i my me we can could what which where when why should would get use using have has need want am".split(" ")
);
var splitQuery = (query) => {
  const words = query.split(/[^\p{Letter}\p{Number}_\p{Emoji_Presentation}]+/gu).filter((word) => word);
  const kept = words.filter((word) => !QUESTION_WORDS.has(word.toLowerCase()));
  return kept.length ? kept : words;
};

var Scorer = {
  score: (result) => {
    const [docname, title, anchor, descr, score, filename] = result;
    const weight = WEIGHTS.find(([pattern]) => pattern.test(docname));
    const query = new URLSearchParams(window.location.search).get("q") || "";
    const words = query.toLowerCase().split(/\W+/).filter((word) => word.length > 1);
    const inTitle = words.filter((word) => title.toLowerCase().includes(word)).length;
    return score + (weight ? weight[1] : 0) + 6 * inTitle;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: {0: 15, 1: 5, 2: -5},
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
