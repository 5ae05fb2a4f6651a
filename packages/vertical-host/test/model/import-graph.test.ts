/** Loading of libraries: none of a provider's before a model of that provider is really called. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const run = promisify(execFile);

/** Runs a module in a process of its own, and answers which packages it loaded, step by step. */
async function packagesLoadedBy(steps: string): Promise<Record<string, string[]>> {
  const script = `
    import { registerHooks } from 'node:module';
    let loaded = new Set();
    registerHooks({
      load(url, context, next) {
        const name = /node_modules\\/((?:@[^/]+\\/)?[^/]+)\\/(?!.*node_modules)/.exec(url)?.[1];
        if (name) loaded.add(name);
        return next(url, context);
      },
    });
    const report = {};
    const step = (name) => { report[name] = [...loaded].sort(); loaded = new Set(); };
    ${steps}
    console.log(JSON.stringify(report));
  `;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: import.meta.dirname,
  });
  return JSON.parse(stdout);
}

const OF_MODELS = /^(?:ai|@ai-sdk\/.*|workers-ai-provider)$/;

test('a vertical that has no models, and one that never asks any, load nothing for them', {
  timeout: 60_000,
}, async () => {
  const loaded = await packagesLoadedBy(`
    await import('@freehold/vertical-host');
    step('vertical');
    const { createModelHost } = await import('@freehold/vertical-host/model');
    step('module');
    const host = createModelHost({
      env: { FREEHOLD_MODEL_OPENAI_API_KEY: 'k' },
      guard: () => { throw new Error('no'); },
      record: () => undefined,
    });
    host.status('openai:gpt-5-mini');
    const attribution = { tenant: 't', scope: 's', vertical: 'v', version: '1', operation: 'o' };
    await host.run({ spec: 'openai:gpt-5-mini', attribution, prompt: 'hi', maxOutputTokens: 1 }).catch(() => undefined);
    step('refused');
  `);
  expect(loaded.vertical?.filter((name) => OF_MODELS.test(name))).toEqual([]);
  expect(loaded.module?.filter((name) => OF_MODELS.test(name))).toEqual([]);
  expect(loaded.refused).toEqual([]);
  // The hook sees packages at all.
  expect(loaded.vertical).toContain('hono');
});

test('a call loads the library of its own row and no other', { timeout: 60_000 }, async () => {
  const loaded = await packagesLoadedBy(`
    const { createModelHost } = await import('@freehold/vertical-host/model');
    step('module');
    const host = createModelHost({
      env: { FREEHOLD_MODEL_ANTHROPIC_API_KEY: 'k' },
      guard: () => undefined,
      record: () => undefined,
      fetch: async () => new Response('{}', { status: 401 }),
    });
    const attribution = { tenant: 't', scope: 's', vertical: 'v', version: '1', operation: 'o' };
    await host.run({ spec: 'anthropic:x', attribution, prompt: 'hi', maxOutputTokens: 1 }).catch(() => undefined);
    step('asked');
  `);
  expect(loaded.asked).toContain('ai');
  expect(loaded.asked).toContain('@ai-sdk/anthropic');
  for (const other of [
    '@ai-sdk/openai',
    '@ai-sdk/google',
    '@ai-sdk/openai-compatible',
    'workers-ai-provider',
  ])
    expect(loaded.asked).not.toContain(other);
});
