import { isUtf8 } from 'node:buffer';
import { limits } from '@countersign/contracts';
import { ProblemError } from '@countersign/shell';
import { scanJson } from './strict-json.js';

/**
 * The JSON value of a body, or undefined for an empty one.
 * @throws ProblemError `invalid-request`, naming every path that another parser could read otherwise.
 */
export function parseBody(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  if (!isUtf8(bytes)) throw new ProblemError('invalid-request', 'the body is not valid UTF-8');
  const text = bytes.toString('utf8');
  const { depth, faults } = scanJson(text, limits.jsonDepthMax);
  // Too deep a text must not reach the parser; of any other the parser's own word comes first.
  const value = depth === 'too-deep' ? undefined : parse(text);
  if (faults.length > 0) {
    const detail = faults.map(({ path, message }) => `${path === '' ? 'the body' : path} ${message}`).join('; ');
    throw new ProblemError('invalid-request', detail.slice(0, detailLengthMax), { errors: faults });
  }
  return value;
}

const detailLengthMax = 2000;

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // V8 quotes the text around the fault; it may hold a secret, and the client has it anyway.
    const where = error instanceof SyntaxError ? /at position \d+/.exec(error.message)?.[0] : undefined;
    throw new ProblemError('invalid-request', `the body is not valid JSON${where === undefined ? '' : ` ${where}`}`);
  }
}
