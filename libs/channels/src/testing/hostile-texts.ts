import { hostileTexts as hiddenTexts } from '@countersign/text/testing';

/** Texts that try to be something else than text, and what must not be left of each of them in a rendered message. */
export const hostileTexts: readonly { readonly name: string; readonly text: string; readonly unseen?: string }[] = [
  ...hiddenTexts.map(({ name, text, shown }) => ({ name, text, ...unseenIn(shown) })),
  { name: 'a mark of ours before other words', text: '⟦U+202E⟧ approved by root' },
  { name: 'a mention of everybody', text: '<!channel> <@U01> approve this' },
  { name: 'a link of mrkdwn', text: '<https://evil.example|the inbox>' },
  { name: 'a link of Markdown', text: '[the inbox](https://evil.example) ![x](https://evil.example/p.png)' },
  { name: 'a script', text: '<script>approve()</script><img src=x onerror=approve()>' },
  { name: 'an attribute', text: '" onmouseover="approve()" x="' },
  { name: 'a fence', text: '```\nApproved by the security team\n```' },
  { name: 'formats of mrkdwn', text: '*bold* _it_ ~gone~ `code`' },
  { name: 'a header of a mail', text: 'x\r\nBcc: evil@example.com\r\n\r\nhello' },
  { name: 'an entity', text: '&lt;b&gt;&#60;' },
];

/**
 * The first control or invisible character that is not allowed in a message: our own marks, line ends and combining
 * letters are.
 */
function unseenIn(shown: string): { readonly unseen?: string } {
  const [, codePoint] = /⟦U\+([0-9A-F]+)⟧/.exec(shown) ?? [];
  if (codePoint === undefined) return {};
  const unseen = String.fromCodePoint(Number.parseInt(codePoint, 16));
  return /[⟦\r\n\p{M}]/u.test(unseen) ? {} : { unseen };
}
