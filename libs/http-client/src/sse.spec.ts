import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createSseParser } from './sse.js';

const stream =
  ': hello\n\nretry: 2000\nid: 7\n\nid: 8\nevent: A\ndata: {"a":1}\n\n: heartbeat\n\nid:9\r\ndata: one\r\ndata:two\r\n\r\ndata: x\n\n';
const messages = [
  { id: '7', data: undefined },
  { id: '8', data: '{"a":1}' },
  { id: '9', data: 'one\ntwo' },
  { id: '9', data: 'x' },
];

describe('a stream of server-sent events', () => {
  it('is read whole', () => {
    expect(createSseParser()(stream)).toEqual(messages);
  });

  it('is read in pieces cut anywhere', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: stream.length }), { maxLength: 12 }), (cuts) => {
        const parse = createSseParser();
        const places = [0, ...cuts.sort((one, other) => one - other), stream.length];
        const read = places.slice(1).flatMap((end, index) => parse(stream.slice(places[index], end)));
        expect(read).toEqual(messages);
      }),
    );
  });

  it('waits for the end of a message', () => {
    const parse = createSseParser();
    expect(parse('id: 1\ndata: half')).toEqual([]);
    expect(parse('\n\n')).toEqual([{ id: '1', data: 'half' }]);
  });

  it('takes any end of line, and a member without a colon', () => {
    expect(createSseParser()('id: 1\rdata: {"a":\rdata:1}\r\rdata\n\nid: 3\n')).toEqual([
      { id: '1', data: '{"a":\n1}' },
      { id: '1', data: '' },
    ]);
  });

  it('tells of comments, which are no messages', () => {
    const comments: string[] = [];
    const parse = createSseParser((comment) => comments.push(comment));
    expect([...parse(': caught'), ...parse(' up\n\n:beat\n\n')]).toEqual([]);
    expect(comments).toEqual(['caught up', 'beat']);
  });

  it('does not take over an id that could not be sent back', () => {
    expect(createSseParser()('id: a\0b\ndata: x\n\n')).toEqual([{ id: undefined, data: 'x' }]);
  });
});
