import type { DigestList } from '../digest-list.js';
import { escaped } from './mail-text.js';

const footer =
  'These approvals were pending when this mail was sent. Opening a link decides nothing: sign in there, look at the whole, and decide.';

/** The plain part of a digest. */
export function digestText({ headline, lines, more }: DigestList): string {
  const listed = lines.map(({ text, link }) => (link === null ? `- ${text}` : `- ${text}\n  ${link}`));
  return `${[`${headline}.`, '', ...listed, ...(more === '' ? [] : [more]), '', footer].join('\n')}\n`;
}

/** The HTML part: the same, every character of it escaped. */
export function digestHtml({ headline, lines, more }: DigestList): string {
  const listed = lines.map(({ text, link }) => {
    const shown = escaped(text);
    return `<li style="white-space:pre-wrap">${link === null ? shown : `<a href="${escaped(link)}">${shown}</a>`}</li>`;
  });
  const left = more === '' ? '' : `<p>${escaped(more)}</p>`;
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Countersign</title></head><body style="font-family:sans-serif;max-width:44em"><h2>${escaped(headline)}</h2><ul>${listed.join('')}</ul>${left}<hr><p style="color:#555">${escaped(footer)}</p></body></html>`;
}
