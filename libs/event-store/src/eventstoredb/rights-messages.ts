import { randomUUID } from 'node:crypto';
import { BinaryReader, BinaryWriter } from 'google-protobuf';

/** Requests by the numbers of the vendor's `streams.proto` and `users.proto`, as in `protocol.ts`. */

type Fields = (writer: BinaryWriter) => void;

function message(fields: Fields): Uint8Array {
  const writer = new BinaryWriter();
  fields(writer);
  return writer.getResultBuffer();
}

const empty = new Uint8Array();

function streamNamed(stream: string): Uint8Array {
  return message((writer) => {
    writer.writeBytes(3, Buffer.from(stream));
  });
}

/** A revision, or any revision. */
export type ExpectedRevision = number | 'any';

function target(stream: string, expected: ExpectedRevision): Uint8Array {
  const options = message((writer) => {
    writer.writeBytes(1, streamNamed(stream));
    if (expected === 'any') writer.writeBytes(4, empty);
    else writer.writeUint64(2, expected);
  });
  return message((writer) => {
    writer.writeBytes(1, options);
  });
}

/** `DeleteReq` and `TombstoneReq`: they have the same fields. */
export const deleteRequest = target;

/** The two messages of an append: `AppendReq` with options, and with the event. */
export function appendRequests(
  stream: string,
  expected: ExpectedRevision,
  type: string,
  data: unknown,
): readonly Uint8Array[] {
  const pair = (key: string, value: string): Uint8Array =>
    message((writer) => {
      writer.writeString(1, key);
      writer.writeString(2, value);
    });
  const proposed = message((writer) => {
    const id = message((uuid) => {
      uuid.writeString(2, randomUUID());
    });
    writer.writeBytes(1, id);
    writer.writeBytes(2, pair('type', type));
    writer.writeBytes(2, pair('content-type', 'application/json'));
    writer.writeBytes(4, Buffer.from(JSON.stringify(data)));
  });
  const event = message((writer) => {
    writer.writeBytes(2, proposed);
  });
  return [target(stream, expected), event];
}

/** `ReadReq` for the last event of a stream, or of `$all`. */
export function readLastRequest(stream: string): Uint8Array {
  const end = (field: number): Uint8Array =>
    message((writer) => {
      if (stream !== '$all') writer.writeBytes(1, streamNamed(stream));
      writer.writeBytes(field, empty);
    });
  const asText = message((writer) => {
    writer.writeBytes(2, empty);
  });
  const options = message((writer) => {
    if (stream === '$all') writer.writeBytes(2, end(3));
    else writer.writeBytes(1, end(4));
    writer.writeEnum(3, 1);
    writer.writeUint64(5, 1);
    writer.writeBytes(8, empty);
    writer.writeBytes(9, asText);
  });
  return message((writer) => {
    writer.writeBytes(1, options);
  });
}

/** `CreateReq` of the users. */
export function createUserRequest(name: string, password: string): Uint8Array {
  return inOptions((writer) => {
    writer.writeString(1, name);
    writer.writeString(2, password);
    writer.writeString(3, name);
  });
}

/** `ResetPasswordReq` of the users. */
export function resetPasswordRequest(name: string, password: string): Uint8Array {
  return inOptions((writer) => {
    writer.writeString(1, name);
    writer.writeString(2, password);
  });
}

/** `DetailsReq` of the users. */
export function userDetailsRequest(name: string): Uint8Array {
  return inOptions((writer) => {
    writer.writeString(1, name);
  });
}

/** The details of a user in a `DetailsResp`. */
export function userIn(answer: Uint8Array): { readonly groups: readonly string[]; readonly isDisabled: boolean } {
  const groups: string[] = [];
  let isDisabled = false;
  const reader = new BinaryReader(fieldIn(answer, 1) ?? empty);
  while (reader.nextField()) {
    if (reader.getFieldNumber() === 3) groups.push(reader.readString());
    else if (reader.getFieldNumber() === 5) isDisabled = reader.readBool();
    else reader.skipField();
  }
  return { groups, isDisabled };
}

function inOptions(fields: Fields): Uint8Array {
  return message((writer) => {
    writer.writeBytes(1, message(fields));
  });
}

/** Field 2 of `AppendResp`: another revision than expected. */
export function isConflict(answer: Uint8Array): boolean {
  return fieldIn(answer, 2) !== undefined;
}

/** The data of the event in a `ReadResp`; undefined when it has none. */
export function dataIn(answer: Uint8Array): Uint8Array | undefined {
  const path = [1, 1, 8];
  let bytes: Uint8Array | undefined = answer;
  for (const field of path) bytes = bytes === undefined ? undefined : fieldIn(bytes, field);
  return bytes;
}

function fieldIn(bytes: Uint8Array, wanted: number): Uint8Array | undefined {
  const reader = new BinaryReader(bytes);
  while (reader.nextField()) {
    if (reader.getFieldNumber() === wanted) return reader.readBytes();
    reader.skipField();
  }
  return undefined;
}
