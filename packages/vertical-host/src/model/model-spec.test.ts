import { PlatformError } from '@freehold/contracts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseModelSpec } from './model-spec.ts';

const provider = fc.stringMatching(/^[a-z][a-z0-9-]{0,31}$/);
const segment = fc.stringMatching(/^[A-Za-z0-9@][A-Za-z0-9_.:@+-]{0,20}$/);
const modelId = fc.array(segment, { minLength: 1, maxLength: 5 }).map((segments) => segments.join('/'));

test('a spec is split at its first colon, whatever colons and slashes the model has (spec 4.8)', () => {
  fc.assert(
    fc.property(provider, modelId, (row, id) => {
      expect(parseModelSpec(`${row}:${id}`)).toEqual({ provider: row, modelId: id });
    }),
  );
});

test('whatever is accepted reads the same when it is put together again, and cannot leave its place in a path', () => {
  const anything = fc.oneof(
    fc.string(),
    fc.string({ unit: 'grapheme' }),
    fc
      .tuple(
        provider,
        fc.string({ unit: fc.constantFrom('a', '.', '/', ':', '?', '#', '%', '@', '\\', ' ', '\n') }),
      )
      .map(([row, id]) => `${row}:${id}`),
  );
  fc.assert(
    fc.property(anything, (spec) => {
      let parsed: ReturnType<typeof parseModelSpec>;
      try {
        parsed = parseModelSpec(spec);
      } catch (error) {
        if (!(error instanceof PlatformError)) throw error;
        expect([error.code, error.reason]).toEqual(['validation_failed', 'model_spec']);
        return;
      }
      expect(`${parsed.provider}:${parsed.modelId}`).toBe(spec);
      const url = new URL(`http://provider.example/v1/${parsed.modelId}:generate`);
      expect(url.href).toBe(`http://provider.example/v1/${parsed.modelId}:generate`);
      expect(url.search + url.hash).toBe('');
    }),
    { numRuns: 2_000 },
  );
});

test.each([
  '',
  ':',
  'openai',
  'openai:',
  ':gpt-5',
  'Open AI:gpt-5',
  'openai:../files',
  'openai:a/../b',
  'openai:a//b',
  'openai:./a',
  'openai:a/.',
  'openai:gpt 5',
  'openai:gpt-5\n',
  'openai:gpt-5?key=1',
  'openai:gpt-5#x',
  'openai:gpt%2f5',
  `openai:${'x'.repeat(201)}`,
  `${'x'.repeat(33)}:gpt`,
])('%j is no spec, and is not repeated', (spec) => {
  try {
    parseModelSpec(spec);
  } catch (error) {
    expect(error).toMatchObject({ code: 'validation_failed', reason: 'model_spec' });
    if (spec.length > 10) expect((error as Error).message).not.toContain(spec);
    return;
  }
  throw new Error('it was accepted');
});
