/** The instances of a process that have files open are as many as its limit allows. */
import { expect, test } from 'vitest';
import { limitForInstances, openInstancesMax } from '../src/index.ts';
import { OpenInstances } from '../src/process/open-instances.ts';

/** With a clock that stands still but for sleeping. */
function open(max: number) {
  const time = { ms: 0 };
  const instances = new OpenInstances({
    max,
    clock: () => time.ms,
    sleep: async (ms) => {
      time.ms += ms;
    },
  });
  const ask = (scope: string) => {
    instances.enter(scope)?.();
    time.ms += 1_000;
  };
  return { instances, time, ask };
}
const tooMany = (retryAfter: string) => ({
  status: 503,
  reason: 'too_many_open_files',
  headers: { 'retry-after': retryAfter },
});

test('one that is open takes any number of requests, and another one waits until the one that rests for longest is closed', async () => {
  const { instances, time, ask } = open(3);
  for (const scope of ['a', 'b', 'c', 'a']) ask(scope);
  time.ms = 8_000;
  const end = await instances.wait('d');
  // workerd closed it ten seconds after its last request, at 1 s; two more are on the safe side.
  expect(time.ms).toBe(13_000);
  expect([instances.enter('a'), instances.enter('b'), instances.enter('c')]).toEqual([
    expect.any(Function),
    null,
    expect.any(Function),
  ]);
  end();
  end();
});

test('many requests for one instance take the place of one', async () => {
  const { instances, ask } = open(3);
  for (const scope of ['a', 'b', 'c']) ask(scope);
  await Promise.all([1, 2, 3].map(() => instances.wait('d')));
  expect(['a', 'b', 'c'].map((scope) => instances.enter(scope) !== null)).toEqual([false, true, true]);
});

test('those that are asked again and again keep no other one out: each gives up its place in turn', async () => {
  const { instances, time, ask } = open(1);
  ask('a');
  await expect(instances.wait('b')).rejects.toMatchObject(tooMany('11'));
  // Its own requests wait now as well, so that it is closed.
  expect(instances.enter('a')).toBeNull();
  time.ms += 11_000;
  expect(instances.enter('b')).not.toBeNull();
});

test('where all are used, the request is refused for a moment', async () => {
  const { instances } = open(1);
  instances.enter('a');
  await expect(instances.wait('b')).rejects.toMatchObject(tooMany('12'));
  expect(instances.enter('a')).not.toBeNull();
});

test('of a process that ended, those that rest have no files open', () => {
  const { instances } = open(2);
  instances.enter('a')?.();
  instances.enter('b');
  instances.restart();
  expect([instances.enter('c'), instances.enter('d')]).toEqual([expect.any(Function), null]);
});

test('the limit of open files says how many, and the limit for a number is enough for it', () => {
  expect([256, 1_632, Number.POSITIVE_INFINITY].map(openInstancesMax)).toEqual([
    17,
    132,
    Number.POSITIVE_INFINITY,
  ]);
  expect(openInstancesMax(limitForInstances(300))).toBe(300);
});
