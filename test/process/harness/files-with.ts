import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The files of the folders that have one of the texts in their bytes: as it is, or within base64 at any offset. */
export function filesWith(folders: readonly string[], texts: readonly string[]): readonly string[] {
  const needles = texts.flatMap((text) => [text, ...base64Of(text)]);
  return folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((file) => {
        const bytes = readFileSync(file);
        return needles.some((needle) => bytes.includes(needle));
      }),
  );
}

/** The middle of the text as base64, for each of the three ways in which it can lie in longer bytes. */
function base64Of(text: string): readonly string[] {
  return [0, 1, 2].map((offset) => {
    const encoded = Buffer.from('x'.repeat(offset) + text).toString('base64');
    return encoded.slice(4, -4);
  });
}
