/** What a person sees of a card. */
export interface Look {
  /** The texts of its fields, as they stand; each mark stands between U+E001 and U+E002. */
  readonly texts: readonly string[];
  /** What is wrong with the view. */
  readonly faults: readonly string[];
}

/** The fields with texts of others: names and values, lines, labels, titles, quotes, instructions, reasons. */
const fields = [
  '.cs-card-title',
  '.cs-member > dt',
  '.cs-member:not([data-nested="true"]) > dd',
  '.cs-rows :is(th, td)',
  'figcaption code',
  '.cs-diff-lines',
  '.cs-facts dd',
  '.cs-instructions li',
  '.cs-responses li',
  '.cs-own-words blockquote',
];

/** Runs in the page: scrolls each box of the card through, reads its fields, and measures each piece of text in them. */
export const lookAtCard = String.raw`(() => {
  const faults = new Set();
  const card = document.querySelector('article');
  if (card === null) return { texts: [], faults: ['there is no card'] };
  const scroller = document.querySelector('.cs-pane-scroll');
  for (const box of [scroller, ...card.querySelectorAll('.cs-diff')])
    if (box.scrollWidth > box.clientWidth + 1) faults.add('it scrolls to the side: ' + box.className);
  for (const box of card.querySelectorAll('.cs-diff')) {
    const lines = [...box.querySelectorAll('.cs-diff-line')];
    const seen = new Set();
    for (let at = 0; ; at += box.clientHeight * 0.9) {
      box.scrollTop = at;
      const visible = box.getBoundingClientRect();
      for (const line of lines) {
        const { top, bottom } = line.getBoundingClientRect();
        if (bottom > visible.top && top < visible.bottom) seen.add(line);
      }
      if (box.scrollTop + box.clientHeight >= box.scrollHeight - 2) break;
    }
    if (seen.size !== lines.length) faults.add('a line is never on screen');
  }
  const range = document.createRange();
  const read = (root) => {
    const within = root.getBoundingClientRect();
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    let text = '';
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      if (node.parentElement.closest('.cs-diff-sign, button') !== null) continue;
      range.selectNodeContents(node);
      for (const { left, right, height } of range.getClientRects()) {
        const isOutside = left < within.left - 1 || right > within.right + 1 || right > innerWidth || left < 0;
        if (isOutside || height === 0) faults.add('not on screen: ' + node.data.slice(0, 40));
      }
      text += node.parentElement.closest('mark') === null ? node.data : '\ue001' + node.data + '\ue002';
    }
    return text;
  };
  const lines = (root) => [...root.querySelectorAll('.cs-diff-text')].map(read).join('\n');
  const texts = [...card.querySelectorAll(${JSON.stringify(fields.join(', '))})]
    .map((field) => (field.matches('.cs-diff-lines') ? lines(field) : read(field)));
  return { texts, faults: [...faults] };
})()`;
