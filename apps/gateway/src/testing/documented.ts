import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { createOpenApiDocument } from '../openapi/document.js';

interface Documentation {
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
  /** Throws when the document would not have allowed a body that the server took. */
  readonly checkAccepted: (method: string, path: string, body: unknown) => void;
}

/** A checker over the document that the server serves. */
export function createDocumented(): Documented {
  const document = createOpenApiDocument();
  const ajv = new Ajv2020({ strict: false, allErrors: true, unicodeRegExp: true });
  (formats as unknown as (ajv: Ajv2020) => void)(ajv);
  ajv.addSchema({ $id: 'openapi', components: document.components });
  const compiled = new Map<string, ValidateFunction>();
  const paths = Object.keys(document.paths).map((path) => ({
    path,
    pattern: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{[A-Za-z]+\}/g, '[^/]+')}$`),
  }));

  const operationOf = (method: string, path: string): Operation | undefined => {
    const [bare = ''] = path.split('?', 1);
    const found = paths
      .filter(({ pattern }) => pattern.test(bare))
      .map((one) => document.paths[one.path]?.[method.toLowerCase()])
      .find((operation) => operation !== undefined);
    return found as Operation | undefined;
  };
  const check = (what: string, schema: unknown, value: unknown): void => {
    const text = JSON.stringify(schema).replaceAll('"#/components', '"openapi#/components');
    const validate = compiled.get(text) ?? ajv.compile(JSON.parse(text) as object);
    compiled.set(text, validate);
    if (!validate(value)) throw new Error(`${what} is not as documented: ${ajv.errorsText(validate.errors)}`);
  };
  return {
    checkResponse: (method, path, status, contentType, body) => {
      const operation = operationOf(method, path);
      if (operation === undefined) return;
      const what = `${method} ${path} ${status}`;
      const named = operation.responses[String(status)];
      const shared = document.components.responses as unknown as Record<string, Documentation>;
      const response = named !== undefined && '$ref' in named ? shared[named.$ref.split('/').at(-1) ?? ''] : named;
      if (response === undefined) throw new Error(`${what} is not documented: ${JSON.stringify(body)}`);
      const [mediaType = ''] = contentType.split(';', 1);
      const content = response.content[mediaType];
      if (content === undefined) throw new Error(`${what} is not documented with ${mediaType}`);
      check(what, content.schema, body);
    },
    checkAccepted: (method, path, body) => {
      const schema = operationOf(method, path)?.requestBody?.content['application/json']?.schema;
      if (schema !== undefined) check(`the body of ${method} ${path}`, schema, body ?? {});
    },
  };
}
