// Writes the types of libs/api-client from docs/openapi.json. They are not in the repository: the document is.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import typesOf, { astToString, COMMENT_HEADER } from 'openapi-typescript';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const document = JSON.parse(readFileSync(join(root, 'docs', 'openapi.json'), 'utf8'));
// The document has some members as required in a condition, for generators that would refuse null in them otherwise.
for (const schema of Object.values(document.components.schemas))
  if (schema.then?.required !== undefined) schema.required = [...(schema.required ?? []), ...schema.then.required];
const types = astToString(await typesOf(document, { emptyObjectsUnknown: true }));
writeFileSync(join(root, 'libs', 'api-client', 'src', 'api.ts'), `${COMMENT_HEADER}${types}`);
