import { publicError } from '@freehold/contracts';
import { makeRateLimiter, tooManyCalls } from '@freehold/contracts/http';
import { expect, test } from 'vitest';
import { rateLimitHeaders } from './rate-limit.ts';

const LIMIT = { calls: 10, windowSeconds: 60 };

function atZero(limit = LIMIT) {
  const clock = { nowMs: 0 };
  return { clock, limiter: makeRateLimiter(() => clock.nowMs, limit) };
}

test('an actor may make a whole window of calls at once, and not one more', () => {
  const { limiter } = atZero();
  const taken = Array.from({ length: 11 }, () => limiter.take('svc_1'));
  expect(taken.map(({ admitted }) => admitted)).toEqual([...Array<boolean>(10).fill(true), false]);
  expect(taken.map(({ remaining }) => remaining)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0]);
});

test('each share of the window brings one call back, and refused calls cost nothing', () => {
  const { clock, limiter } = atZero();
  for (let call = 0; call < 30; call++) limiter.take('svc_1');
  expect(limiter.take('svc_1')).toEqual({ admitted: false, remaining: 0, resetSeconds: 6 });
  clock.nowMs = 5_999;
  expect(limiter.take('svc_1').admitted).toBe(false);
  clock.nowMs = 6_000;
  expect(limiter.take('svc_1')).toEqual({ admitted: true, remaining: 0, resetSeconds: 60 });
  expect(limiter.take('svc_1').admitted).toBe(false);
});

test('after a quiet window the allowance is whole, and never more than that', () => {
  const { clock, limiter } = atZero();
  for (let call = 0; call < 10; call++) limiter.take('svc_1');
  clock.nowMs = 3_600_000;
  const admitted = Array.from({ length: 20 }, () => limiter.take('svc_1')).filter((taken) => taken.admitted);
  expect(admitted).toHaveLength(10);
});

test('one actor takes nothing from another', () => {
  const { limiter } = atZero();
  for (let call = 0; call < 11; call++) limiter.take('svc_1');
  expect(limiter.take('svc_2')).toEqual({ admitted: true, remaining: 9, resetSeconds: 6 });
});

test('over many windows no more is admitted than the limit says', () => {
  const { clock, limiter } = atZero({ calls: 7, windowSeconds: 3 });
  let admitted = 0;
  for (; clock.nowMs < 300_000; clock.nowMs += 13) if (limiter.take('svc_1').admitted) admitted += 1;
  expect(admitted).toBeLessThanOrEqual(7 * 101);
  expect(admitted).toBeGreaterThan(7 * 99);
});

test('many strangers do not make one actor’s exhausted allowance whole', () => {
  const { limiter } = atZero();
  for (let call = 0; call < 10; call++) limiter.take('svc_1');
  for (let other = 0; other < 9_999; other++) limiter.take(`svc_other_${other}`);
  expect(limiter.take('svc_1').admitted).toBe(false);
});

test('a refusal says when to come again, and headers say where an actor stands', () => {
  const { limiter } = atZero();
  const first = limiter.take('svc_1');
  expect(rateLimitHeaders(limiter.limit, first)).toEqual({
    'ratelimit-policy': '"calls";q=10;w=60',
    ratelimit: '"calls";r=9;t=6',
  });
  for (let call = 0; call < 9; call++) limiter.take('svc_1');
  const refused = publicError(tooManyCalls(limiter.take('svc_1')));
  expect(refused).toMatchObject({
    code: 'rate_limited',
    message: 'That is too many calls. Try again in 6 seconds.',
  });
  expect(refused.headers).toEqual({ 'retry-after': '6' });
});

test('a clock that was ahead locks no caller out: an allowance is whole again a window later at most', () => {
  const { clock, limiter } = atZero();
  const DAY_MS = 86_400_000;
  clock.nowMs = DAY_MS;
  limiter.take('svc_1');
  clock.nowMs = 0;
  expect(limiter.take('svc_1')).toEqual({ admitted: false, remaining: 0, resetSeconds: 6 });
  clock.nowMs = 6_000;
  expect(limiter.take('svc_1')).toEqual({ admitted: true, remaining: 0, resetSeconds: 60 });
  clock.nowMs = 66_000;
  expect(limiter.take('svc_1')).toEqual({ admitted: true, remaining: 9, resetSeconds: 6 });
});

test('a clock that is set back a little makes no exhausted allowance whole', () => {
  const { clock, limiter } = atZero();
  clock.nowMs = 5;
  for (let call = 0; call < 10; call++) limiter.take('svc_1');
  clock.nowMs = 0;
  expect(limiter.take('svc_1')).toEqual({ admitted: false, remaining: 0, resetSeconds: 6 });
});
