/** The file of limits: what it leaves out, and what is refused. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { LIMITS_DEFAULT, loadLimits } from './limits.ts';

function load(text: string) {
  const directory = mkdtempSync(join(tmpdir(), 'freehold-limits-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const path = join(directory, 'limits.json');
  writeFileSync(path, text);
  return loadLimits(path);
}

test('without a file there are the defaults, for every plan', () => {
  expect(loadLimits(null)).toEqual({ default: LIMITS_DEFAULT, plans: {} });
});

test('a plan takes what it leaves out from the default of the file, and that from ours', () => {
  const file = {
    default: { requests: { tenant: 100 } },
    plans: { small: { requests: { scope: 10 }, streams: { tenant: null } } },
  };
  const loaded = load(JSON.stringify(file));
  expect(loaded.default.requests).toEqual({ ...LIMITS_DEFAULT.requests, tenant: 100 });
  expect(loaded.plans.small?.requests).toEqual({ ...LIMITS_DEFAULT.requests, tenant: 100, scope: 10 });
  expect(loaded.plans.small?.streams).toEqual({ ...LIMITS_DEFAULT.streams, tenant: null });
});

test.each([
  ['{', 'is not JSON'],
  ['{"default":{"requests":{"tenant":0}}}', 'default.requests.tenant'],
  ['{"plans":{"small":{"request":{}}}}', 'plans.small'],
  ['{"default":{"bytes":{"address":1}}}', 'default.bytes'],
])('%s is refused, and the sentence says where', (text, where) => {
  expect(() => load(text)).toThrow(/^FREEHOLD_LIMITS_FILE cannot be used: /);
  expect(() => load(text)).toThrow(where);
});

test('a file that is not there is refused', () => {
  expect(() => loadLimits('/nowhere/limits.json')).toThrow('ENOENT');
});
