import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { OpenApiDocument } from '../openapi/document.js';

interface Documentation {
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content: Readonly<Record<string, { readonly schema: unknown }>>;
}

interface Operation {
  readonly requestBody?: Documentation;
  readonly responses: Readonly<Record<string, Documentation | { readonly $ref: string }>>;
}

/** Checks a response against the OpenAPI document. */
export interface Documented {
  /** Throws when the document does not have this response; paths that the document does not have are left alone. */
  readonly checkResponse: (method: string, path: string, status: number, contentType: string, body: unknown) => void;
  /**
   * Throws when the answer lacks a header that the document has for every such answer, or has one of ours that the document does
   * not have.
   */
  readonly checkHeaders: (method: string, path: string, status: number, headers: Headers) => void;
  /** Throws when the document would not have allowed a body that the server took. */
  readonly checkAccepted: (method: string, path: string, body: unknown) => void;
}

/** Headers that only some answers of a status have. */
const sometimes = ['Countersign-Log', 'Countersign-Log-Missing', 'Countersign-Position', 'Idempotent-Replayed', 'Link'];
const ours = [
  ...['Countersign-Position', 'Idempotent-Replayed', 'Link', 'Location', 'RateLimit', 'RateLimit-Policy'],
  ...['Request-Id', 'Retry-After', 'WWW-Authenticate'],
];

/** Another form of an operation, which the document leaves out. */
const formOf: Readonly<Record<string, string>> = { '/v1/grants?dryRun=true': '/v1/grants/preview' };

let theOne: Documented | undefined;

/**
 * The document that the server serves, as `docs/openapi.json` has it: `npm run openapi:lint` compares the two, and making it anew takes a
 * fifth of a second in each spec.
 */
export const file = join(import.meta.dirname, '..', '..', '..', '..', 'docs', 'openapi.json');

/** The checker over this document, one for all worlds of a spec: it compiles a schema for each response. */
export function documented(): Documented {
  return (theOne ??= createDocumented());
}

function createDocumented(): Documented {
  const document = JSON.parse(readFileSync(file, 'utf8')) as OpenApiDocument;
  const ajv = new Ajv2020({
    ...{ strict: false, allErrors: true, unicodeRegExp: true },
    inlineRefs: false,
    code: { optimize: false },
  });
  (formats as unknown as (ajv: Ajv2020) => void)(ajv);
  ajv.addSchema({ $id: 'openapi', components: document.components });
  const compiled = new Map<string, ValidateFunction>();
  const paths = Object.keys(document.paths).map((path) => ({
    path,
    pattern: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{[A-Za-z]+\}/g, '[^/]+')}$`),
  }));

  const operationOf = (method: string, path: string): Operation | undefined => {
    const [bare = ''] = (formOf[path] ?? path).split('?', 1);
    const found = paths
      .filter(({ pattern }) => pattern.test(bare))
      .map((one) => document.paths[one.path]?.[method.toLowerCase()])
      .find((operation) => operation !== undefined);
    return found as Operation | undefined;
  };
  const responseOf = (method: string, path: string, status: number): Documentation | undefined => {
    const named = operationOf(method, path)?.responses[String(status)];
    const shared = document.components.responses as unknown as Record<string, Documentation>;
    return named !== undefined && '$ref' in named ? shared[named.$ref.split('/').at(-1) ?? ''] : named;
  };
  const check = (what: string, schema: unknown, value: unknown): void => {
    const text = JSON.stringify(schema).replaceAll('"#/components', '"openapi#/components');
    const validate = compiled.get(text) ?? ajv.compile(JSON.parse(text) as object);
    compiled.set(text, validate);
    if (!validate(value)) throw new Error(`${what} is not as documented: ${ajv.errorsText(validate.errors)}`);
  };
  return {
    checkResponse: (method, path, status, contentType, body) => {
      if (operationOf(method, path) === undefined) return;
      const what = `${method} ${path} ${status}`;
      const response = responseOf(method, path, status);
      if (response === undefined) throw new Error(`${what} is not documented: ${JSON.stringify(body)}`);
      const [mediaType = ''] = contentType.split(';', 1);
      const content = response.content[mediaType];
      if (content === undefined) throw new Error(`${what} is not documented with ${mediaType}`);
      check(what, content.schema, body);
    },
    checkHeaders: (method, path, status, headers) => {
      const declared = Object.keys(responseOf(method, path, status)?.headers ?? {});
      if (declared.length === 0) return;
      const missing = declared.filter((name) => !sometimes.includes(name) && !headers.has(name));
      const unknown = ours.filter((name) => headers.has(name) && !declared.includes(name));
      if (missing.length + unknown.length > 0)
        throw new Error(`${method} ${path} ${status} lacks ${missing.join()} or has undocumented ${unknown.join()}`);
    },
    checkAccepted: (method, path, body) => {
      const schema = operationOf(method, path)?.requestBody?.content['application/json']?.schema;
      if (schema !== undefined) check(`the body of ${method} ${path}`, schema, body ?? {});
    },
  };
}
