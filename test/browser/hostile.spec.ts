import { describe, expect, it } from '@jest/globals';
import { cleanUpAfterEach } from '../process/harness/cleanup.js';
import { eventually } from '../process/harness/wait.js';
import { editAsJson, openInbox, openWorld, useBrowser } from './harness/inbox.js';
import { keepPicture } from './harness/pictures.js';

/** Texts that would run, hide, reorder, imitate or break out, each with what must be seen in its place. */
const corpus: readonly (readonly [name: string, text: string, seen: string])[] = [
  ['a script', '<script>document.title="owned"</script>', '<script>document.title="owned"</script>'],
  ['a handler', '<img src=x onerror="document.title=\'owned\'">', '<img src=x onerror="document.title=\'owned\'">'],
  ['an svg', '<svg/onload=document.title="owned">', '<svg/onload=document.title="owned">'],
  ['a broken-out attribute', '"><iframe srcdoc="<script>parent.document.title=1</script>">', '"><iframe srcdoc='],
  ['a link', '[click](javascript:document.title="owned")', '[click](javascript:document.title="owned")'],
  ['a template', '{{constructor.constructor("document.title=1")()}} ${document.title}', '{{constructor.constructor('],
  ['a style', '<style>*{display:none}</style>', '<style>*{display:none}</style>'],
  ['a form', '<form action="https://evil.example"><button>Approve</button></form>', '<form action='],
  ['right-to-left override', 'rm \u202e\u2066 tset\u2069 /', '⟦U+202E⟧⟦U+2066⟧ tset⟦U+2069⟧'],
  ['zero width', 'pass\u200bword\u2060\ufeff', 'pass⟦U+200B⟧word⟦U+2060⟧⟦U+FEFF⟧'],
  ['a Cyrillic twin', '/еtc/hosts', '/⟦U+0435⟧tc/hosts'],
  ['an escape sequence', 'ok\u001b[2J\u0007', 'ok⟦U+001B⟧[2J⟦U+0007⟧'],
  ['tag characters', 'yes\u{e0061}\u{e0062}', 'yes⟦U+E0061⟧⟦U+E0062⟧'],
  ['a forged mark', 'a⟦U+202E⟧b', 'a⟦U+27E6⟧U+202E⟧b'],
  ['stacked combining', `z${'\u0300'.repeat(9)}`, '⟦U+0300⟧'],
  ['an odd space', 'rm\u00a0-rf\u3000x', 'rm⟦U+00A0⟧-rf⟦U+3000⟧x'],
  ['line separators', 'one\u2028two', 'one⟦U+2028⟧two'],
];

describe('hostile texts in the inbox', () => {
  cleanUpAfterEach();
  const browser = useBrowser();

  it('are texts: nothing runs, hides, reorders or poses, wherever they stand', async () => {
    const world = await openWorld();
    // The gateway refuses control characters in names only; every other field accepts any character.
    const names = corpus.filter(([, text]) => !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text));
    await world.ask(
      corpus.map(([, text], index) => ({
        toolCallId: `c${index}`,
        toolName: `tool-${index}-${names.some(([, other]) => other === text) ? text : ''}`,
        arguments: {
          [`key ${text}`]: text,
          nested: [{ deep: text }],
          content: `first ${text}\nsecond ${text}\n`,
          path: text,
        },
        description: text,
        ...{ title: text.slice(0, 256), toolDescription: `d ${text}`, metadata: { [text]: text } },
        reason: `${text}\n${text}`,
      })),
      { agentId: `agent-${corpus[1]?.[1] ?? ''}`, runId: `run-${corpus[8]?.[1] ?? ''}` },
    );
    const { page, complaints } = await openInbox(browser(), world.url);
    const rows = page.getByRole('list', { name: 'Pending approvals' }).getByRole('link');
    await page.getByText(`${corpus.length} shown`).waitFor();
    for (const [index, [, , seen]] of corpus.entries()) {
      if (index > 0) await page.keyboard.press('j');
      await page.getByRole('heading', { level: 2, name: `tool-${index}-` }).waitFor();
      const card = page.getByRole('article');
      await card.getByText('in the inbox alone').waitFor();
      const text = (await card.innerText()).replaceAll('\n', '');
      expect(text.split(seen).length - 1).toBeGreaterThanOrEqual(6);
      expect(text).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      // Our facts about a call come before the agent's own text.
      expect(text.lastIndexOf('What will run')).toBeLessThan(text.indexOf('The agent’s own words'));
      expect(await card.locator('script, img, iframe, svg, style, form, a[href^="javascript"]').count()).toBe(0);
    }
    await keepPicture(page, 'hostile');
    expect(await rows.count()).toBeGreaterThan(3);
    expect(await page.title()).toBe(`(${corpus.length}) Countersign`);
    for (const path of ['/insights', '/history', `/runs/${encodeURIComponent(`run-${corpus[8]?.[1] ?? ''}`)}`]) {
      await page.goto(`${world.url}${path}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
    }
    await page.getByRole('link', { name: /^tool-0/ }).waitFor();
    const title = `(${corpus.length}) Countersign`;
    await eventually('the title to tell', async () => (await page.title()) === title || undefined);
    expect(complaints).toEqual([]);
  }, 240_000);

  it('are marked where they are edited as well, and stay what they are', async () => {
    const world = await openWorld();
    const texts = corpus.filter(([name]) => !['an escape sequence', 'line separators'].includes(name));
    const given = Object.fromEntries(texts.map(([name, text]) => [name, text]));
    const [call] = await world.ask([{ toolName: 'edited', arguments: given }]);
    const { page, complaints } = await openInbox(browser(), world.url);
    await page.getByRole('heading', { name: 'edited' }).waitFor();
    const editor = await editAsJson(page);
    await editor.click();
    const shown = (await editor.innerText()).replaceAll('\n', '');
    expect(shown).not.toMatch(/[\p{Cf}\p{Zl}\p{Zp}]/u);
    for (const [, text, seen] of texts) {
      if (seen !== text && seen.includes('⟦')) expect(shown).toContain(seen);
    }
    expect(call?.state).toBe('awaiting_approval');
    expect(complaints).toEqual([]);
  });

  it('never show a secret, in no view of an approver, who may be an auditor too', async () => {
    const world = await openWorld();
    const canary = 'canary-9f3b7c';
    const [call] = await world.ask(
      [
        {
          toolName: 'login',
          arguments: { user: 'x', password: canary, nested: { api_key: canary } },
          toolSchema: { properties: { user: { type: 'string' } } },
        },
      ],
      { runId: 'run-secret' },
    );
    for (const as of ['ann', 'me'] as const) {
      const { page } = await openInbox(browser(), world.url, as);
      const bodies: string[] = [];
      page.on('response', (response) => {
        const path = new URL(response.url()).pathname;
        if (path.startsWith('/v1/') && !path.startsWith('/v1/audit'))
          void response.text().then(
            (body) => bodies.push(body),
            () => undefined,
          );
      });
      await page.getByRole('heading', { name: 'login' }).waitFor();
      await page.keyboard.press('e');
      await page.getByRole('dialog').waitFor();
      await page
        .getByText(/masked sha256/)
        .first()
        .waitFor();
      expect(await page.content()).not.toContain(canary);
      for (const path of ['/runs/run-secret', `/calls/${call?.callId ?? ''}`]) {
        await page.goto(`${world.url}${path}`);
        await page
          .getByText(/masked sha256/)
          .first()
          .waitFor();
        expect(await page.content()).not.toContain(canary);
      }
      expect(bodies.join('')).not.toContain(canary);
    }
  });
});
