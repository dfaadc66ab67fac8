// Order of search results: pages that answer a user's question before reference, notes and history.
const WEIGHTS = [
  [/^(tutorials|guides)\//, 12],
  [/^explanation\//, 8],
  [/^nptrace\//, 2],
  [/^reference\/(conventions|commands|glossary)$/, 6],
  [/^research\//, -6],
  [/^(changelog|moved|release|contributing|architecture|research\/first-hour)$/, -14],
];

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
