import type { JsonValue } from '@countersign/contracts';
import { applicators } from './applicators.js';
import { assertions } from './assertions.js';
import type { Dialect, Keyword } from './keyword.js';
import { memberKeywords } from './members.js';

const definitions: Keyword = (value, place, keyword) => {
  place.subschemas(value, keyword);
};
const refused: Keyword = (_, place, keyword) => {
  place.refuse('is not supported', keyword);
};

const everywhere = new Map<string, Keyword>([
  ['$defs', definitions],
  ['definitions', definitions],
  // Read for their ids and marks also where no `if` makes them count.
  ['then', (value, place, keyword) => void place.subschema(value, keyword)],
  ['else', (value, place, keyword) => void place.subschema(value, keyword)],
  ['$dynamicRef', refused],
  ['$recursiveRef', refused],
  ['$recursiveAnchor', refused],
  ...assertions,
  ...memberKeywords,
  ...applicators,
]);
const notInDraft07 = [
  ...['$dynamicRef', '$recursiveRef', '$recursiveAnchor', 'prefixItems', 'dependentSchemas', 'dependentRequired'],
  ...['unevaluatedProperties', 'unevaluatedItems'],
];
const draft07 = new Map([...everywhere].filter(([name]) => !notInDraft07.includes(name)));

/** The dialects by what `$schema` calls them. */
export const dialects = new Map<JsonValue, Dialect>(
  ['http', 'https'].flatMap((scheme) => [
    [`${scheme}://json-schema.org/draft/2020-12/schema`, '2020-12'],
    [`${scheme}://json-schema.org/draft/2020-12/schema#`, '2020-12'],
    [`${scheme}://json-schema.org/draft-07/schema`, 'draft-07'],
    [`${scheme}://json-schema.org/draft-07/schema#`, 'draft-07'],
  ]),
);

/** The compiler of each keyword of a dialect; unknown keywords are ignored. */
export function keywordsOf(dialect: Dialect): ReadonlyMap<string, Keyword> {
  return dialect === 'draft-07' ? draft07 : everywhere;
}
