import type { IncomingHttpHeaders } from 'node:http';
import { ErrorCode, type JSONRPCRequest } from '@modelcontextprotocol/sdk/types.js';
import { objectOf, type Reply } from '../wire.js';
import { metaNames, namedBy, statelessErrors, statelessVersion } from './protocol.js';
import { failed } from './request-facts.js';

type Failure = Extract<Reply, { error: unknown }>;

/** Returns whether the header or the body of a POST names a version of stateless requests. */
export function isStatelessPost(headers: IncomingHttpHeaders, body: unknown): boolean {
  const version = headerOf(headers, 'mcp-protocol-version') ?? '';
  // Versions are dates.
  return version >= statelessVersion || [body].flat().some((message) => versionIn(message) !== undefined);
}

function versionIn(message: unknown): unknown {
  return objectOf(objectOf(objectOf(message)['params'])['_meta'])[metaNames.version];
}

/** Returns the error for a header that names another version than the body. */
export function versionMismatch(headers: IncomingHttpHeaders, request: JSONRPCRequest): Failure | undefined {
  const header = headerOf(headers, 'mcp-protocol-version');
  const version = versionIn(request);
  return header === undefined || version === undefined ? undefined : mismatch('MCP-Protocol-Version', header, version);
}

/**
 * Returns the error for headers that do not repeat the body. The attack: a proxy allows the tool that the header names,
 * and the server runs the one in the body.
 */
export function headerProblem(headers: IncomingHttpHeaders, request: JSONRPCRequest): Failure | undefined {
  const { method, params = {} } = request;
  const version = versionIn(request);
  if (version === undefined && method !== 'initialize') {
    return failed(ErrorCode.InvalidParams, `Invalid params: _meta["${metaNames.version}"] must be a text`);
  }
  const named = params[namedBy[method] ?? ''];
  return (
    mismatch('MCP-Protocol-Version', headerOf(headers, 'mcp-protocol-version'), version ?? 'none') ??
    mismatch('Mcp-Method', headerOf(headers, 'mcp-method'), method) ??
    (typeof named === 'string' ? mismatch('Mcp-Name', decoded(headerOf(headers, 'mcp-name')), named) : undefined)
  );
}

function mismatch(name: string, header: string | undefined, body: unknown): Failure | undefined {
  if (header === body) return undefined;
  const said = header === undefined ? 'is missing' : `is ${JSON.stringify(header)}`;
  const message = `Header mismatch: ${name} ${said}, and the body says ${JSON.stringify(body)}`;
  return failed(statelessErrors.headerMismatch, message);
}

function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value.trim() : undefined;
}

const encodedForm = /^=\?base64\?(.*)\?=$/;

/** Returns the text of a header. One that is not plain ASCII is in Base64; undefined when that is malformed. */
export function decoded(value: string | undefined): string | undefined {
  const form = value === undefined ? null : encodedForm.exec(value);
  if (form === null) return value;
  const [, given = ''] = form;
  const bytes = Buffer.from(given, 'base64');
  return bytes.toString('base64') === given ? bytes.toString('utf8') : undefined;
}

/** Returns a text as a header can carry it. */
export function encoded(text: string): string {
  const isPlain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith('=?base64?');
  return isPlain ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;
}
