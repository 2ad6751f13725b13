import { agentWordsLabel } from '../card/card.js';
import type { Card } from '../card/card.js';

/** One request or outcome in an email, with its link. */
export interface MailPart {
  readonly card: Card;
  readonly link: string | null;
}

const rule = '-'.repeat(64);
const footer =
  'Opening the link shows the card and decides nothing. To decide, sign in there. This mail is for you alone: for other people its links do not open.';

/** The plain part of a mail. */
export function textOf(parts: readonly MailPart[]): string {
  return `${parts.map(partText).join(`\n\n${rule}\n\n`)}\n\n${rule}\n${footer}\n`;
}

/** A card as plain text, with its link to the inbox. */
export function textOfCard(card: Card): string {
  return partText({ card, link: card.link });
}

function partText({ card, link }: MailPart): string {
  return [
    card.headline,
    ...card.status,
    ...(link === null ? [] : ['', `Look at it and decide: ${link}`]),
    '',
    ...card.facts.map(([label, text]) => `${label}: ${text}`),
    ...card.warnings.map((warning) => `! ${warning}`),
    '',
    'Arguments:',
    ...card.argumentLines,
    ...(card.change === undefined ? [] : ['', `${card.change.headline}:`, ...card.change.lines]),
    ...(card.agentWords.length === 0 ? [] : ['', `${agentWordsLabel}:`]),
    ...card.agentWords.flatMap(([label, text]) => [`${label}:`, text]),
  ].join('\n');
}

/** The HTML part: the same, every character of it escaped; no image, no style from elsewhere, no script. */
export function htmlOf(parts: readonly MailPart[]): string {
  const body = parts.map(partHtml).join('<hr>');
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Countersign</title></head><body style="font-family:sans-serif;max-width:44em;overflow-wrap:anywhere">${body}<hr><p style="color:#555">${escaped(footer)}</p></body></html>`;
}

/** Texts that differ in their spaces alone are different texts. */
const spaced = 'style="white-space:pre-wrap"';

function partHtml({ card, link }: MailPart): string {
  const facts = card.facts.map(
    ([label, text]) =>
      `<tr><th align="left" style="padding-right:1em">${escaped(label)}</th><td ${spaced}>${escaped(text)}</td></tr>`,
  );
  const words = card.agentWords.map(([label, text]) => `<p>${escaped(label)}:</p>${block(text)}`);
  return [
    `<h2 ${spaced}>${escaped(card.headline)}</h2>`,
    ...card.status.map((line) => `<p ${spaced}>${escaped(line)}</p>`),
    ...(link === null ? [] : [`<p><a href="${escaped(link)}">Look at it and decide</a></p>`]),
    `<table>${facts.join('')}</table>`,
    ...card.warnings.map((warning) => `<p ${spaced}><strong>${escaped(warning)}</strong></p>`),
    `<p>Arguments:</p>${block(card.argumentLines.join('\n'))}`,
    ...(card.change === undefined
      ? []
      : [`<p ${spaced}>${escaped(card.change.headline)}:</p>${block(card.change.lines.join('\n'))}`]),
    ...(words.length === 0 ? [] : [`<p><em>${escaped(agentWordsLabel)}:</em></p>`, ...words]),
  ].join('');
}

function block(text: string): string {
  return `<pre style="white-space:pre-wrap;overflow-wrap:anywhere;background:#f4f4f4;padding:.5em">${escaped(text)}</pre>`;
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes a text for HTML. */
export function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character);
}
