import type { IncomingHttpHeaders } from 'node:http';
import { isObject, objectOf, type Reply } from '../wire.js';
import { decoded, encoded } from './http-headers.js';
import { statelessErrors } from './protocol.js';
import { failed } from './request-facts.js';

type Members = Readonly<Record<string, unknown>>;

/** An argument that a header repeats, for proxies. */
export interface HeaderArgument {
  readonly header: string;
  readonly path: readonly string[];
}

const mark = 'x-mcp-header';
const tokenForm = /^[!#$%&'*+.^`|~\w-]+$/;
const headerTypes: readonly unknown[] = ['string', 'integer', 'boolean'];
/** Keywords whose values are data. */
const dataKeywords: readonly string[] = ['const', 'default', 'enum', 'examples', mark];
/** Keywords whose values are schemas by name. */
const namedSchemas: readonly string[] = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'];

/** Returns the arguments that headers repeat. Undefined when the schema marks one that no header can repeat. */
export function headerArgumentsOf(schema: unknown): readonly HeaderArgument[] | undefined {
  const found: HeaderArgument[] = [];
  const isValid = visit(schema, [], found);
  const names = found.map(({ header }) => header.toLowerCase());
  return isValid && new Set(names).size === names.length ? found : undefined;
}

/** @param path the names of the argument; undefined where the schema does not belong to one argument alone. */
function visit(schema: unknown, path: readonly string[] | undefined, found: HeaderArgument[]): boolean {
  if (Array.isArray(schema)) return schema.every((part) => visit(part, undefined, found));
  if (!isObject(schema)) return true;
  if (mark in schema) {
    const argument = argumentOf(schema, path);
    if (argument === undefined) return false;
    found.push(argument);
  }
  return Object.entries(schema).every(([keyword, value]) => {
    if (dataKeywords.includes(keyword)) return true;
    if (!namedSchemas.includes(keyword)) return visit(value, undefined, found);
    return Object.entries(objectOf(value)).every(([name, part]) =>
      visit(part, keyword === 'properties' && path !== undefined ? [...path, name] : undefined, found),
    );
  });
}

function argumentOf({ [mark]: name, type }: Members, path: readonly string[] = []): HeaderArgument | undefined {
  if (typeof name !== 'string' || !tokenForm.test(name) || path.length === 0 || !headerTypes.includes(type))
    return undefined;
  return { header: `Mcp-Param-${name}`, path };
}

/** Returns the headers of a call. */
export function paramHeadersOf(marked: readonly HeaderArgument[], args: unknown): Record<string, string> {
  const headers = marked.flatMap(({ header, path }) => {
    const text = textAt(path, args);
    return text === undefined ? [] : [[header, encoded(text)] as const];
  });
  return Object.fromEntries(headers);
}

/** Returns the error for a call whose headers do not repeat its arguments. */
export function paramProblem(
  marked: readonly HeaderArgument[],
  args: unknown,
  headers: IncomingHttpHeaders,
): Reply | undefined {
  const wrong = marked.find(({ header, path }) => {
    const value = headers[header.toLowerCase()];
    if (typeof value !== 'string') return textAt(path, args) !== undefined;
    const said = decoded(value.trim());
    return said === undefined || !isSame(said, textAt(path, args));
  });
  if (wrong === undefined) return undefined;
  return failed(
    statelessErrors.headerMismatch,
    `Header mismatch: ${wrong.header} does not repeat the argument ${wrong.path.join('.')}`,
  );
}

/** Whole numbers can be written in more than one way. */
function isSame(header: string, text: string | undefined): boolean {
  if (header === text) return true;
  return text !== undefined && /^-?\d+$/.test(text) && header !== '' && Number(header) === Number(text);
}

function textAt(path: readonly string[], args: unknown): string | undefined {
  const value = path.reduce<unknown>(
    (part, name) => (isObject(part) && Object.hasOwn(part, name) ? part[name] : undefined),
    args,
  );
  if (typeof value === 'string') return value;
  return typeof value === 'boolean' || Number.isSafeInteger(value) ? String(value) : undefined;
}
