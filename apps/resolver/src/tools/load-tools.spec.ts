import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { startToolServer } from '../testing/tool-server.js';
import type { ToolServer } from '../testing/tool-server.js';
import { loadTools } from './load-tools.js';
import type { Tool, ToolRun } from './tool.js';
import { ToolsFileError } from './tools-file.js';

describe('the tools file', () => {
  let folder: string;
  let server: ToolServer;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tools-'));
    server = await startToolServer();
  });
  afterEach(async () => {
    await server.close();
    await rm(folder, { recursive: true });
  });
  const put = (name: string, text: string): Promise<void> => writeFile(join(folder, name), text);
  const load = async (text: string, env: Record<string, string> = {}, name = 'tools.yaml') => {
    await put(name, text);
    return loadTools(join(folder, name), env);
  };
  const only = async (text: string, env: Record<string, string> = {}): Promise<Tool> => {
    const { tools } = await load(text, env);
    expect(tools).toHaveLength(1);
    return tools[0]!;
  };
  const problemsOf = async (text: string, env: Record<string, string> = {}): Promise<string[]> => {
    const error: unknown = await load(text, env).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ToolsFileError);
    return (error as ToolsFileError).problems.map(({ path, problem }) => `${path}: ${problem}`);
  };
  const runOf = (run: Partial<ToolRun> = {}): ToolRun => ({
    callId: 'tc_1',
    runId: 'run-1',
    toolName: 'refund_order',
    arguments: { orderId: 'A-1', amount: 12 },
    actionDigest: 'sha256:00',
    attempt: 2,
    idempotencyKey: 'key-1',
    signal: new AbortController().signal,
    ...run,
  });
  const httpTool = (more = ''): string =>
    `tools: [{ name: refund_order, http: { url: "http://127.0.0.1:${server.port}/refund", allowPrivateNetwork: true ${more} } }]`;

  it('reads the form of the documentation, with its defaults', async () => {
    await put('send-report.mjs', 'export default { inputSchema: { type: "object" }, execute: () => "sent" };');
    const set = await load(`
tools:
  - { name: refund_order, http: { url: "https://billing.example/refund", timeoutMs: 10000, headers: { x-team: ops } }, idempotent: true }
  - { name: send_report, module: ./send-report.mjs }
  - { name: refund_order, tenant: acme, needsApproval: false, http: { url: "https://acme.example/" }, inputSchema: { type: object } }
`);
    expect(set.tools).toMatchObject([
      { name: 'refund_order', tenant: 'default', needsApproval: true, idempotent: true, inputSchema: null },
      {
        name: 'send_report',
        tenant: 'default',
        needsApproval: true,
        idempotent: false,
        inputSchema: { type: 'object' },
      },
      {
        name: 'refund_order',
        tenant: 'acme',
        needsApproval: false,
        idempotent: false,
        inputSchema: { type: 'object' },
      },
    ]);
    expect(set.find('acme', 'refund_order')).toBe(set.tools[2]);
    expect(set.find('acme', 'send_report')).toBeUndefined();
  });

  it('is refused when its aliases stand for a flood of copies', async () => {
    const text =
      'a: &a [x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b, *b, *b]';
    expect(await problemsOf(text)).toEqual([': its aliases stand for more than 100 copies']);
  });

  it('may be JSON', async () => {
    const json = JSON.stringify({ tools: [{ name: 'a', http: { url: 'https://a.example/' } }] });
    expect((await load(json, {}, 'tools.json')).tools).toHaveLength(1);
  });

  describe('that is wrong', () => {
    it('is refused with every problem and its place', async () => {
      await put('no-tool.mjs', 'export default { run: () => 1 };');
      await put('empty', ' \n');
      const problems = await problemsOf(`
tools:
  - { name: a, http: { url: "ftp://a.example/", timeoutMs: 0, retries: 3 } }
  - { name: "", idempotent: yes please, http: { url: "https://u:p@a.example/" } }
  - { name: c }
  - { name: d, module: ./d.mjs, http: { url: "https://d.example/" } }
  - { name: e, http: { url: "https://e.example/", headers: { Authorization: { env: NOT_SET }, x-key: { file: ./missing }, x-b: { file: ./empty }, x-c: "a\\nb" } } }
  - { name: f, http: { url: "https://f.example/", headers: { Host: g, "a b": c, x-d: 5 } } }
  - { name: g, module: ./no-tool.mjs }
  - { name: h, module: ./missing.mjs }
  - { name: i, http: { url: "https://i.example/" }, timeoutMs: 5 }
  - { name: i, http: { url: "https://i.example/" }, inputSchema: { type: 5 } }
  - { name: j, http: { url: "https://j.example/" } }
  - { name: j, http: { url: "https://j.example/" } }
  - 5
`);
      expect(problems).toEqual([
        'tools[0].http.url: must be an http or https url',
        'tools[0].http.timeoutMs: must be at least 1',
        'tools[0].http.retries: is not a known setting',
        'tools[1].name: must not be empty',
        'tools[1].idempotent: must be true or false, not text',
        'tools[1].http.url: must carry no credentials: use a header',
        'tools[2]: must have either http or module',
        'tools[3]: must have either http or module',
        'tools[4].http.headers.Authorization: the environment variable NOT_SET is not set',
        expect.stringMatching(
          /^tools\[4\]\.http\.headers\.x-key: file not found: .*missing\. Create it or correct the path\.$/,
        ),
        'tools[4].http.headers.x-b: the file ./empty is empty',
        'tools[4].http.headers.x-c: has characters that a header cannot carry',
        'tools[5].http.headers.Host: is a header that the resolver sets itself',
        'tools[5].http.headers.a b: is not a header name',
        'tools[5].http.headers.x-d: must be a text, { env: NAME } or { file: PATH }',
        expect.stringMatching(/^tools\[6\]\.module: its default export must be \{ inputSchema, execute/),
        expect.stringMatching(/^tools\[7\]\.module: Cannot find module/),
        'tools[8].timeoutMs: is for modules: the limit of an http tool is http.timeoutMs',
        'tools[9].inputSchema: /type must be one or some of: null, boolean, object, array, number, string, integer',
        'tools[11].name: "j" is there twice for tenant "default"',
        'tools[12]: must be an object, not a number',
      ]);
    });

    it('is refused when it sends a secret in clear text beyond the private network', async () => {
      await put('key', 'k');
      const secret = 'headers: { x-key: { file: ./key }, x-team: ops }';
      const problem = 'must be https: it gets the secret header x-key';
      expect(
        await problemsOf(`
tools:
  - { name: a, http: { url: "http://a.example/", ${secret} } }
  - { name: b, http: { url: "http://1.1.1.1/", ${secret}, allowPrivateNetwork: true } }
  - { name: c, http: { url: "http://[2606:4700::1111]/", ${secret}, allowPrivateNetwork: true } }
`),
      ).toEqual([
        `tools[0].http.url: ${problem}. Use https, or set allowPrivateNetwork: true for a host in your own network`,
        `tools[1].http.url: ${problem}. Use https`,
        `tools[2].http.url: ${problem}. Use https`,
      ]);
    });

    it('may send a secret over https, or in clear text within the private network, and anything else over http', async () => {
      await put('key', 'k');
      const secret = 'headers: { x-key: { file: ./key } }';
      const { tools } = await load(`
tools:
  - { name: a, http: { url: "https://a.example/", ${secret} } }
  - { name: b, http: { url: "http://10.0.0.7/", ${secret}, allowPrivateNetwork: true } }
  - { name: c, http: { url: "http://billing.internal/", ${secret}, allowPrivateNetwork: true } }
  - { name: d, http: { url: "http://d.example/", headers: { x-team: ops } } }
`);
      expect(tools.map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd']);
    });

    it.each([
      ['tools: [', /./],
      ['tools: 5', /tools/],
      ['', /./],
      ['tools: []\nother: 1', /other: is not a known setting/],
      ['tools: []\ntools: []', /unique/],
    ])('as a whole is refused: %j', async (text, problem) => {
      expect((await problemsOf(text)).join()).toMatch(problem);
    });

    it('or missing is refused', async () => {
      await expect(loadTools(join(folder, 'none.yaml'), {})).rejects.toThrow(
        /none\.yaml cannot be used:\n {2}COUNTERSIGN_TOOLS: file not found: .*none\.yaml\. Create it or unset the variable\./,
      );
    });

    it('may not give a schema twice', async () => {
      await put('t.mjs', 'export default { inputSchema: {}, execute: () => 1 };');
      expect(await problemsOf('tools: [{ name: t, module: ./t.mjs, inputSchema: { type: object } }]')).toEqual([
        'tools[0].inputSchema: is given by the module already',
      ]);
    });
  });

  describe('an http tool', () => {
    it('posts the call with its key and headers, secrets read from where the file says', async () => {
      await put('secret', 'from-file\n');
      const headers = ', headers: { x-team: ops, Authorization: { env: BILLING }, x-key: { file: ./secret } }';
      const tool = await only(httpTool(headers), { BILLING: 'Bearer from-env' });
      expect(await tool.run(runOf())).toEqual({ status: 'succeeded', output: { ok: true } });
      const [{ url, headers: sent, body }] = server.received as [(typeof server.received)[0]];
      expect(url).toBe('/refund');
      expect(sent).toMatchObject({
        'content-type': 'application/json',
        'idempotency-key': 'key-1',
        'x-team': 'ops',
        authorization: 'Bearer from-env',
        'x-key': 'from-file',
      });
      expect(JSON.parse(body)).toEqual({
        callId: 'tc_1',
        runId: 'run-1',
        toolName: 'refund_order',
        arguments: { orderId: 'A-1', amount: 12 },
        actionDigest: 'sha256:00',
        attempt: 2,
      });
      expect(inspect(tool, { depth: 9, showHidden: true })).not.toContain('from-');
    });

    it('passes on the receipt of the claim as it is at that moment, and no header of the file replaces it', async () => {
      const tool = await only(httpTool(', headers: { Countersign-Receipt: forged }'));
      let renewals = 0;
      const receipt = (): string => `receipt-${String((renewals += 1))}`;
      await tool.run(runOf({ receipt }));
      await tool.run(runOf({ receipt }));
      const sent = server.received.map(({ headers }) => headers['countersign-receipt']);
      expect(sent.slice(-2)).toEqual(['receipt-1', 'receipt-2']);
    });

    it.each([
      ['application/json', '{"id":9007199254740993}', '{"id":9007199254740993}'],
      ['application/json', '{"__proto__":{"a":1}}', '{"__proto__":{"a":1}}'],
      ['application/json', '"half \\ud800"', '"half \\ud800"'],
      [
        'application/problem+json; charset=utf-8',
        '{"id":9007199254740991,"x":1.5e3}',
        { id: 9007199254740991, x: 1500 },
      ],
      ['application/json', '{broken', '{broken'],
      ['application/json', '', ''],
      ['application/json', `${'['.repeat(70)}${']'.repeat(70)}`, `${'['.repeat(70)}${']'.repeat(70)}`],
      ['text/plain', '{"a":1}', '{"a":1}'],
      ['', 'plain', 'plain'],
    ])('takes an answer of type "%s" for what it is: %s', async (type, body, output) => {
      server.answer = (_, response) => {
        if (type !== '') response.setHeader('content-type', type);
        response.writeHead(201).end(body);
      };
      expect(await (await only(httpTool())).run(runOf())).toEqual({ status: 'succeeded', output });
    });

    it('has succeeded although its answer is too long to keep', async () => {
      server.answer = (_, response) => response.end('x'.repeat(300_000));
      expect(await (await only(httpTool())).run(runOf())).toEqual({
        status: 'succeeded',
        output: { outputOmitted: 'the answer is longer than 262144 bytes', beginning: 'x'.repeat(4096) },
      });
    });

    it.each([500, 404, 302, 304])('has failed when it answers %i, with status and body', async (status) => {
      server.answer = (_, response) =>
        response.writeHead(status, { location: '/else' }).end(status === 304 ? '' : 'no');
      expect(await (await only(httpTool())).run(runOf())).toEqual({
        status: 'failed',
        error: { code: 'http-status', status, body: status === 304 ? '' : 'no' },
      });
      expect(server.received).toHaveLength(1);
    });

    it('is of unknown outcome when the connection breaks', async () => {
      server.answer = (_, response) => response.destroy();
      expect(await (await only(httpTool())).run(runOf())).toMatchObject({ status: 'unknown' });
    });

    it('is of unknown outcome when it does not answer in time', async () => {
      server.answer = () => undefined;
      expect(await (await only(httpTool(', timeoutMs: 40'))).run(runOf())).toMatchObject({ status: 'unknown' });
    });

    it('does not go into the private network unless the file allows it', async () => {
      const tool = await only(`tools: [{ name: a, http: { url: "http://127.0.0.1:${server.port}/" } }]`);
      expect(await tool.run(runOf())).toEqual({
        status: 'refused',
        code: 'address-not-allowed',
        message: '127.0.0.1 is in a private network',
      });
      expect(server.received).toEqual([]);
    });

    it('is not sent when the connection is refused', async () => {
      const text = httpTool();
      await server.close();
      expect(await (await only(text)).run(runOf())).toMatchObject({ status: 'not-sent', code: 'unreachable' });
      server = await startToolServer();
    });

    it('validates by the schema of the file, and changes nothing', async () => {
      const schema =
        '{ type: object, required: [amount], properties: { amount: { type: number, maximum: 100, default: 5 } } }';
      const tool = await only(httpTool().replace('} }]', `}, inputSchema: ${schema} }]`));
      const args = { amount: 500 };
      expect(await tool.validate(args)).toEqual(['amount must be <= 100']);
      expect(await tool.validate({})).toEqual(["must have required property 'amount'"]);
      expect(await tool.validate({ amount: 1 })).toEqual([]);
      expect(args).toEqual({ amount: 500 });
    });
  });

  describe('a module tool', () => {
    it('gets a copy of the arguments: what it writes into them changes nothing', async () => {
      const tool = await moduleTool(`export default { execute: (args) => {
        args.nested.amount = 999;
        args.apiKey = 'secret';
        return args.nested.amount;
      } };`);
      const args = { nested: { amount: 5 } };
      expect(await tool.run({ ...runOf(), arguments: args })).toEqual({ status: 'succeeded', output: 999 });
      expect(args).toEqual({ nested: { amount: 5 } });
    });

    const zod = JSON.stringify(import.meta.resolve('zod'));
    const moduleTool = async (source: string): Promise<Tool> => {
      await put('tool.mjs', source);
      return only('tools: [{ name: t, module: tool.mjs }]');
    };

    it('is called with the arguments, the call, its key and a signal', async () => {
      const tool = await moduleTool(`export default {
        execute: async (args, { callId, idempotencyKey, signal }) => ({ args, callId, idempotencyKey, aborted: signal.aborted }),
      };`);
      expect(await tool.run(runOf())).toEqual({
        status: 'succeeded',
        output: { args: { orderId: 'A-1', amount: 12 }, callId: 'tc_1', idempotencyKey: 'key-1', aborted: false },
      });
      expect([tool.inputSchema, await tool.validate({ anything: 1 })]).toEqual([null, []]);
    });

    it.each([
      ['throw new Error("no such order")', 'no such order'],
      ['throw "text"', 'text'],
      ['return Promise.reject(new TypeError("async"))', 'async'],
      ['throw Object.create(null)', 'thrown object'],
      ['throw { toString: () => { throw new Error() } }', 'thrown object'],
      ['throw { get message() { throw new Error() } }', 'thrown object'],
      ['throw new Error("half \\ud800")', 'half \ufffd'],
      ['throw new Error("x".repeat(1e6))', 'x'.repeat(8192)],
      ['throw "x".repeat(8191) + "😀"', `${'x'.repeat(8191)}\ufffd`],
    ])('has failed when it throws: %s', async (body, message) => {
      const tool = await moduleTool(`export default { execute: () => { ${body} } };`);
      expect(await tool.run(runOf())).toEqual({ status: 'failed', error: { code: 'tool-threw', message } });
    });

    it.each([
      'throw signal.reason',
      'throw new Error("the connection was closed")',
      'return Promise.reject(signal.reason)',
    ])('may have run when it throws after its signal aborted: %s', async (body) => {
      const tool = await moduleTool(`export default { execute: (args, { signal }) => { ${body} } };`);
      const signal = AbortSignal.abort(new Error('the claim is lost'));
      const message = 'the tool was interrupted: the claim is lost';
      expect(await tool.run(runOf({ signal }))).toEqual({ status: 'unknown', message });
    });

    it('that hangs is told to stop at its time limit, and is not waited for', async () => {
      await put(
        'tool.mjs',
        'export default { execute: (_, { signal }) => new Promise(() => (globalThis.signalOfHanging = signal)) };',
      );
      const tool = await only('tools: [{ name: t, module: tool.mjs, timeoutMs: 20 }]');
      expect(await tool.run(runOf())).toEqual({
        status: 'timed-out',
        message: 'the tool ran longer than its limit of 20 ms',
      });
      expect(Reflect.get(globalThis, 'signalOfHanging')).toMatchObject({ aborted: true });
    });

    it.each([
      ['undefined', null],
      ['new Date(0)', '1970-01-01T00:00:00.000Z'],
      ['({ a: undefined, b: 1 })', { b: 1 }],
    ])('has succeeded with what it returns, as JSON: %s', async (returned, output) => {
      const tool = await moduleTool(`export default { execute: () => ${returned} };`);
      expect(await tool.run(runOf())).toEqual({ status: 'succeeded', output });
    });

    it.each([
      ['10n', /^the output is not JSON: /],
      ['"x".repeat(300000)', /^the output is longer than 262144 bytes$/],
      [
        'JSON.parse("[".repeat(70) + "]".repeat(70))',
        /^the output cannot be recorded: .* is nested deeper than 64 levels$/,
      ],
      ['"half \\ud800"', /^the output cannot be recorded: .* holds a lone surrogate/],
      [`JSON.parse('{"__proto__":{"a":1}}')`, /^the output cannot be recorded: __proto__ is a forbidden key$/],
      ['2 ** 60', /^the output cannot be recorded: .* is an integer beyond/],
      ['({ toJSON: () => { throw Object.create(null) } })', /^the output is not JSON: thrown object$/],
    ])('has succeeded although it returns what cannot be kept: %s', async (returned, why) => {
      const tool = await moduleTool(`export default { execute: () => ${returned} };`);
      expect(await tool.run(runOf())).toMatchObject({
        status: 'succeeded',
        output: { outputOmitted: expect.stringMatching(why) as unknown },
      });
    });

    it('may give a zod schema, which judges and changes nothing', async () => {
      const tool = await moduleTool(`
        import { z } from ${zod};
        const inputSchema = z.strictObject({ to: z.email(), copies: z.number().max(9).default(1) });
        export default { inputSchema, execute: (args) => args };
      `);
      expect(tool.inputSchema).toMatchObject({ type: 'object', required: ['to'], additionalProperties: false });
      expect(await tool.validate({ to: 'a@b.example' })).toEqual([]);
      expect(await tool.validate({ to: 'nobody', copies: 10 })).toEqual([
        'to Invalid email address',
        expect.stringMatching(/^copies Too big/),
      ]);
      expect(await tool.run(runOf({ arguments: { to: 'a@b.example' } }))).toMatchObject({
        output: { to: 'a@b.example' },
      });
    });

    it('may give a schema that JSON Schema has no words for: then it judges here alone', async () => {
      const tool = await moduleTool(`
        const validate = async (value) => (value.even % 2 === 0 ? { value } : { issues: [{ message: 'is odd', path: [{ key: 'even' }] }] });
        export default { inputSchema: { '~standard': { version: 1, vendor: 'own', validate } }, execute: (args) => args };
      `);
      expect(tool.inputSchema).toBeNull();
      expect([await tool.validate({ even: 2 }), await tool.validate({ even: 3 })]).toEqual([[], ['even is odd']]);
    });

    it.each(['5', '"text"', '[]', '{ type: "nothing" }'])('may not give another kind of schema: %s', async (schema) => {
      await put('tool.mjs', `export default { inputSchema: ${schema}, execute: () => 1 };`);
      expect((await problemsOf('tools: [{ name: t, module: tool.mjs }]')).join()).toMatch(/^tools\[0\]\.inputSchema: /);
    });
  });
});
