/** What a person sees of one box of lines. */
export interface Look {
  /** Its lines; each mark stands between U+E001 and U+E002. */
  readonly text: string;
  /** What is wrong with the view. */
  readonly faults: readonly string[];
}

/** Runs in the page: scrolls the first text block through, reads its lines, and measures each piece of text in it. */
export const lookAtBlock = String.raw`(() => {
  const faults = new Set();
  const box = document.querySelector('article .cs-diff');
  if (box === null) return { text: '', faults: ['there is no box'] };
  if (box.scrollWidth > box.clientWidth + 1) faults.add('it scrolls to the side');
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
  const within = box.getBoundingClientRect();
  const range = document.createRange();
  const measured = (node) => {
    range.selectNodeContents(node);
    for (const { left, right, height } of range.getClientRects()) {
      const isOutside = left < within.left - 1 || right > within.right + 1;
      if (isOutside || height === 0) faults.add('not on screen: ' + node.data.slice(0, 40));
    }
    return node.parentElement.closest('mark') === null ? node.data : '\ue001' + node.data + '\ue002';
  };
  const text = lines.map((line) => {
    const walker = document.createTreeWalker(line.querySelector('.cs-diff-text'), NodeFilter.SHOW_TEXT);
    let read = '';
    while (walker.nextNode() !== null) read += measured(walker.currentNode);
    return read;
  });
  return { text: text.join('\n'), faults: [...faults] };
})()`;
