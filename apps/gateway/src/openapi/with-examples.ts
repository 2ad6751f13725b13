import type { ErrorCode, JsonSchema } from '@countersign/contracts';
import { toProblem } from '@countersign/shell';
import { exampleOf } from './examples.js';

type Schemas = Readonly<Record<string, JsonSchema>>;
type Content = Readonly<Record<string, { readonly schema: JsonSchema; readonly example?: unknown }>>;

/** A request or a response of the document. */
type Body = JsonSchema & { readonly content?: Content };

/** Lines of a stream, by its content type. */
const lines: Readonly<Record<string, string>> = {
  'text/csv': 'key,decisions,approvals\r\ndelete_file,3,2\r\n',
  'text/event-stream': 'id: 42\nevent: ToolCallCancelled\ndata: {"type":"ToolCallCancelled","position":42}\n\n',
  'application/x-ndjson': '{"type":"ToolCallCancelled","position":42}\n',
  'text/plain': '# HELP countersign_commands_total Commands\n',
};

const problemType = 'application/problem+json';

/** The problem of the first code that the response can have. */
function problemOf({ $ref }: JsonSchema, schemas: Schemas): unknown {
  const { allOf } = schemas[String($ref).slice('#/components/schemas/'.length)] as { allOf: [JsonSchema, JsonSchema] };
  const { code } = allOf[1]['properties'] as { code: { enum: readonly [ErrorCode] } };
  return toProblem({ code: code.enum[0], detail: 'What happened and what helps, in a sentence.' });
}

/** Returns the operation with an example of its body and of each response. */
export function withExamples(operation: JsonSchema, schemas: Schemas): JsonSchema {
  const { requestBody, responses, ...others } = operation as {
    requestBody?: Body;
    responses: Readonly<Record<string, Body>>;
  };
  return {
    ...others,
    ...(requestBody === undefined ? {} : { requestBody: withExample(requestBody, schemas) }),
    responses: responsesWithExamples(responses, schemas),
  };
}

/** Returns the responses with an example of each. */
export function responsesWithExamples(responses: Readonly<Record<string, Body>>, schemas: Schemas): Schemas {
  return Object.fromEntries(
    Object.entries(responses).map(([status, response]) => [status, withExample(response, schemas)]),
  );
}

function withExample({ content, ...body }: Body, schemas: Schemas): JsonSchema {
  if (content === undefined) return body;
  const exampleFor = (type: string, schema: JsonSchema): unknown =>
    lines[type] ?? (type === problemType ? problemOf(schema, schemas) : exampleOf(schema, schemas));
  const media = Object.entries(content).map(([type, { schema, example = exampleFor(type, schema) }]) => [
    type,
    { schema, example },
  ]);
  return { ...body, content: Object.fromEntries(media) as JsonSchema };
}
