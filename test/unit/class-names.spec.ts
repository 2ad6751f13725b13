import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '..', '..');
const library = join(root, 'libs', 'react');
const inbox = join(root, 'apps', 'inbox', 'src');

// Attack on the eye: the style sheet of a page has a `.card` or a `.button` of its own, and draws over what will run.
it('prefixes each class of the card, so that the styles of a page around it do not meet it', () => {
  const bare = classesIn(sourcesOf(join(library, 'src'), '.tsx')).filter((name) => !name.startsWith('cs-'));
  expect(bare).toEqual([]);
});

it('styles what the inbox shares with the card by the classes of the card', () => {
  const ofLibrary = selectorsIn(sourcesOf(join(library, 'style'), '.css'));
  const ofInbox = selectorsIn(sourcesOf(join(inbox, 'style'), '.css'));
  const used = classesIn(sourcesOf(inbox, '.tsx'));
  expect(ofLibrary).toContain('cs-button');
  expect(used.filter((name) => ofLibrary.includes(`cs-${name}`) && !ofInbox.includes(name))).toEqual([]);
  expect(used.filter((name) => name.startsWith('cs-') && !ofLibrary.includes(name))).toEqual([]);
});

function sourcesOf(folder: string, ending: string): string {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('\n');
}

/** The names in the attributes; a name that is put together is its fixed part. */
function classesIn(text: string): readonly string[] {
  const fixed = [...text.matchAll(/className="([^"]*)"/g)].map(([, names = '']) => names);
  const expressions = [...text.matchAll(/className=\{([^\n]*)/g)].flatMap(([, expression = '']) =>
    [...expression.matchAll(/'([^']*)'|`([^`]*)`/g)].map(([, text = '', template = '']) => text + template),
  );
  const words = [...fixed, ...expressions].flatMap((names) =>
    names.replaceAll(/\S*\$\{[^}]*\}?\S*/g, ' ').split(/\s+/),
  );
  return [...new Set(words)].filter((name) => /^[a-z][a-z-]*$/.test(name)).sort();
}

function selectorsIn(css: string): readonly string[] {
  return [...new Set([...css.matchAll(/\.([a-z][\w-]*)/g)].map(([, name = '']) => name))];
}
