import type { JsonValue } from '@countersign/contracts';
import { applicators } from './applicators.js';
import { assertions } from './assertions.js';
import { isBefore2019, isObject } from './keyword.js';
import type { Dialect, Keyword } from './keyword.js';
import { memberKeywords } from './members.js';

const definitions: Keyword = (value, place, keyword) => {
  place.subschemas(value, keyword);
};

/** The definitions of an OpenAPI document, which tools made from one take over whole. */
const components: Keyword = (value, place, keyword) => {
  const schemas = isObject(value) && Object.hasOwn(value, 'schemas') ? value['schemas'] : undefined;
  if (isObject(schemas)) place.subschemas(schemas, keyword, 'schemas');
};

/** Read for its ids and marks also where no `if` makes it count. */
const branch: Keyword = (value, place, keyword) => {
  place.node.parts.sometimes.push(place.subschema(value, keyword));
};

const everywhere = new Map<string, Keyword>([
  ['$defs', definitions],
  ['definitions', definitions],
  ['components', components],
  ['then', branch],
  ['else', branch],
  ...assertions,
  ...memberKeywords,
  ...applicators,
]);
const notBefore2019 = [
  ...['$dynamicRef', '$recursiveRef', 'prefixItems', 'dependentSchemas', 'dependentRequired'],
  ...['unevaluatedProperties', 'unevaluatedItems'],
];
const before2019 = new Map([...everywhere].filter(([name]) => !notBefore2019.includes(name)));

const paths: readonly (readonly [string, Dialect])[] = [
  ['json-schema.org/draft/2020-12/schema', '2020-12'],
  ['json-schema.org/draft/2019-09/schema', '2019-09'],
  ['json-schema.org/draft-07/schema', 'draft-07'],
  ['json-schema.org/draft-06/schema', 'draft-06'],
  ['json-schema.org/draft-04/schema', 'draft-04'],
  // The latest, which says nothing about the keywords of the schema.
  ['json-schema.org/schema', 'unnamed'],
  ['spec.openapis.org/oas/3.1/dialect/base', 'unnamed'],
];

/** The dialects by what `$schema` calls them. */
export const dialects = new Map<JsonValue, Dialect>(
  ['http', 'https'].flatMap((scheme) =>
    paths.flatMap(([path, dialect]) => ['', '#'].map((end) => [`${scheme}://${path}${end}`, dialect] as const)),
  ),
);

/** What `$schema` says in the schema that a worker sends in place of one that no request can carry. */
export const withheldSchema = 'urn:countersign:withheld-schema';

/** The compiler of each keyword of a dialect; unknown keywords are ignored. */
export function keywordsOf(dialect: Dialect): ReadonlyMap<string, Keyword> {
  return isBefore2019(dialect) ? before2019 : everywhere;
}
