import { expect, test } from 'vitest';
import { makeModelProviders } from './model-providers.ts';

const providers = makeModelProviders({
  FREEHOLD_MODEL: 'anthropic:claude',
  FREEHOLD_MODEL_ANTHROPIC_API_KEY: 'of anthropic',
  FREEHOLD_MODEL_OPENAI_COMPATIBLE_BASE_URL: 'http://127.0.0.1:11434/v1',
  FREEHOLD_MODEL_OPENAI_COMPATIBLE_API_KEY: 'of the machine',
});

test.each([
  ['https://api.anthropic.com/v1/messages', true],
  ['http://127.0.0.1:11434/v1/chat/completions', true],
  ['http://127.0.0.1:11434/v1', true],
  // Another path, another port, another scheme, a longer name, a way back.
  ['http://127.0.0.1:11434/api/delete', false],
  ['http://127.0.0.1:11434/v1/../api/delete', false],
  ['http://127.0.0.1:11434/v10/chat', false],
  ['http://127.0.0.1:3001/v1/tenants', false],
  ['http://api.anthropic.com/v1/messages', false],
  ['https://api.anthropic.com.example.com/v1/messages', false],
  ['http://169.254.169.254/latest/meta-data/', false],
  // The operator set no key of OpenAI.
  ['https://api.openai.com/v1/responses', false],
])('%s is an address of a provider: %s', (address, is) => {
  expect(providers.has(new URL(address))).toBe(is);
});

test('a vertical learns the names of the keys, and a key goes to its own provider alone', () => {
  expect(providers.settings).toEqual({
    FREEHOLD_MODEL: 'anthropic:claude',
    FREEHOLD_MODEL_ANTHROPIC_API_KEY: 'held:FREEHOLD_MODEL_ANTHROPIC_API_KEY',
    FREEHOLD_MODEL_OPENAI_COMPATIBLE_BASE_URL: 'http://127.0.0.1:11434/v1',
    FREEHOLD_MODEL_OPENAI_COMPATIBLE_API_KEY: 'held:FREEHOLD_MODEL_OPENAI_COMPATIBLE_API_KEY',
  });
  const at = (name: string, url: string) => providers.secret(name, new URL(url));
  expect(at('FREEHOLD_MODEL_ANTHROPIC_API_KEY', 'https://api.anthropic.com/v1/messages')).toBe(
    'of anthropic',
  );
  expect(at('FREEHOLD_MODEL_ANTHROPIC_API_KEY', 'http://127.0.0.1:11434/v1/chat')).toBeNull();
  expect(at('FREEHOLD_MODEL', 'https://api.anthropic.com/v1/messages')).toBeNull();
});
