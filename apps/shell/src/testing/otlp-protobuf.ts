/** An attribute, with its value under the name of its type, such as `stringValue`. */
export interface ReceivedAttribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** A span as a collector receives it. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly status: { readonly code: number };
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly attributes: readonly ReceivedAttribute[];
}

/** The spans of one service. */
export interface ReceivedSpans {
  readonly resource: { readonly attributes: readonly ReceivedAttribute[] };
  readonly scopeSpans: readonly { readonly spans: readonly ReceivedSpan[] }[];
}

/** The fields of a message by their number, each with all its values. */
type Fields = ReadonlyMap<number, readonly (bigint | Buffer)[]>;

/** Decodes an `ExportTraceServiceRequest`. Throws for anything that is no protobuf. */
export function decodeTraces(content: Buffer): readonly ReceivedSpans[] {
  return messagesIn(fieldsOf(content), 1).map((spans) => ({
    resource: { attributes: attributesIn(messageIn(spans, 1), 1) },
    scopeSpans: messagesIn(spans, 2).map((scope) => ({ spans: messagesIn(scope, 2).map(spanOf) })),
  }));
}

function spanOf(span: Fields): ReceivedSpan {
  const parentSpanId = bytesIn(span, 4).toString('hex');
  return {
    traceId: bytesIn(span, 1).toString('hex'),
    spanId: bytesIn(span, 2).toString('hex'),
    ...(parentSpanId !== '' && { parentSpanId }),
    name: bytesIn(span, 5).toString(),
    kind: numberIn(span, 6),
    status: { code: numberIn(messageIn(span, 15), 3) },
    links: messagesIn(span, 13).map((link) => ({
      traceId: bytesIn(link, 1).toString('hex'),
      spanId: bytesIn(link, 2).toString('hex'),
    })),
    attributes: attributesIn(span, 9),
  };
}

function attributesIn(message: Fields, field: number): readonly ReceivedAttribute[] {
  return messagesIn(message, field).map((one) => ({
    key: bytesIn(one, 1).toString(),
    value: valueOf(messageIn(one, 2)),
  }));
}

function valueOf(value: Fields): Readonly<Record<string, unknown>> {
  if (value.has(1)) return { stringValue: bytesIn(value, 1).toString() };
  if (value.has(2)) return { boolValue: numberIn(value, 2) === 1 };
  if (value.has(3)) return { intValue: numberIn(value, 3) };
  if (value.has(5)) return { arrayValue: { values: messagesIn(messageIn(value, 5), 1).map(valueOf) } };
  throw new Error(`a value of another type: ${[...value.keys()].join(', ')}`);
}

function messagesIn(message: Fields, field: number): readonly Fields[] {
  return (message.get(field) ?? []).map((value) => fieldsOf(asBytes(value)));
}

function messageIn(message: Fields, field: number): Fields {
  return messagesIn(message, field).at(-1) ?? new Map();
}

function bytesIn(message: Fields, field: number): Buffer {
  return asBytes(message.get(field)?.at(-1) ?? Buffer.alloc(0));
}

function numberIn(message: Fields, field: number): number {
  const value = message.get(field)?.at(-1) ?? 0n;
  if (typeof value !== 'bigint') throw new Error(`the field ${String(field)} is no number`);
  return Number(value);
}

function asBytes(value: bigint | Buffer): Buffer {
  if (typeof value === 'bigint') throw new Error('a number in the place of bytes');
  return value;
}

function fieldsOf(content: Buffer): Fields {
  const fields = new Map<number, (bigint | Buffer)[]>();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = content.readUInt8(at);
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new Error('a number of more than ten bytes');
  };
  const bytes = (length: number): Buffer => {
    if (at + length > content.length) throw new Error('a field that is longer than its message');
    at += length;
    return content.subarray(at - length, at);
  };
  while (at < content.length) {
    const tag = Number(varint());
    const [field, type] = [tag >> 3, tag & 7];
    const value = type === 0 ? varint() : bytes(type === 1 ? 8 : type === 5 ? 4 : Number(varint()));
    if (![0, 1, 2, 5].includes(type)) throw new Error(`the wire type ${String(type)}`);
    fields.set(field, [...(fields.get(field) ?? []), value]);
  }
  return fields;
}
