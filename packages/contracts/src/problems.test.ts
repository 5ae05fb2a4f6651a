import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  fromFailure,
  PlatformError,
  PROBLEMS,
  parseInput,
  problemDocument,
  problemSchema,
  publicError,
  toFailure,
  toProblem,
} from './problems.ts';

const full = new PlatformError('validation_failed', 'The body is not valid.', {
  reason: 'bad_body',
  errors: [{ path: 'a.0', message: 'is missing' }],
  headers: { 'retry-after': '1' },
  cause: new Error('a secret'),
});

describe('a failure', () => {
  test('crosses a boundary as plain JSON and is the same error behind it', () => {
    const wire = JSON.parse(JSON.stringify(toFailure(full))) as ReturnType<typeof toFailure>;
    const error = fromFailure(wire);
    expect(error).toBeInstanceOf(PlatformError);
    expect(toFailure(error)).toEqual(toFailure(full));
    expect(error.status).toBe(400);
  });

  test('never carries its cause', () => {
    expect(JSON.stringify([toFailure(full), toProblem(full)])).not.toContain('secret');
  });

  test('without options has only a code and a detail', () => {
    expect(toFailure(new PlatformError('conflict', 'It is there.'))).toStrictEqual({
      code: 'conflict',
      detail: 'It is there.',
    });
  });
});

describe('what anybody may be told', () => {
  test('of an error that was meant for them is its own words', () => {
    expect(publicError(full)).toBe(full);
  });

  test.each([
    new Error('token=abc'),
    'token=abc',
    null,
    undefined,
    { code: 'conflict', message: 'token=abc' },
  ])('of anything else (%s) is nothing, and a 500', (thrown) => {
    const error = publicError(thrown);
    expect(error.code).toBe('internal');
    expect(JSON.stringify(toProblem(error))).not.toContain('abc');
    expect(error.cause).toBe(thrown);
  });
});

describe('the problem document', () => {
  test('is RFC 9457 with the platform’s members, and error copies detail', async () => {
    const response = problemDocument(full, 'req_1');
    expect(response.status).toBe(400);
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('retry-after')).toBe('1');
    const body = problemSchema.parse(await response.json());
    expect(body).toEqual({
      type: '/problems/validation_failed',
      title: PROBLEMS.validation_failed.title,
      status: 400,
      code: 'validation_failed',
      detail: 'The body is not valid.',
      error: 'The body is not valid.',
      reason: 'bad_body',
      errors: [{ path: 'a.0', message: 'is missing' }],
      requestId: 'req_1',
    });
  });

  test('of a 401 says how to authenticate', () => {
    const response = problemDocument(new PlatformError('unauthenticated', 'Sign in.'));
    expect(response.headers.get('www-authenticate')).toBe('Bearer');
    const other = problemDocument(new PlatformError('forbidden', 'No.'));
    expect(other.headers.get('www-authenticate')).toBeNull();
  });

  test.each(Object.keys(PROBLEMS) as (keyof typeof PROBLEMS)[])('of %s has its status', async (code) => {
    const response = problemDocument(new PlatformError(code, 'x'));
    expect(response.status).toBe(PROBLEMS[code].status);
    expect(problemSchema.parse(await response.json()).code).toBe(code);
  });
});

describe('input that is refused', () => {
  const schema = z.strictObject({ order: z.object({ lines: z.array(z.object({ quantity: z.int() })) }) });
  const refusal = (value: unknown): PlatformError => {
    try {
      parseInput('The body', schema, value);
    } catch (error) {
      return error as PlatformError;
    }
    throw new Error('it was accepted');
  };

  test('names every place, and the first in words', () => {
    const error = refusal({ order: { lines: [{ quantity: 'x' }, { quantity: 1.5 }] } });
    expect(error.code).toBe('validation_failed');
    expect(error.errors?.map((each) => each.path)).toEqual([
      'order.lines.0.quantity',
      'order.lines.1.quantity',
    ]);
    expect(error.message).toMatch(/^The body is not valid\. order\.lines\.0\.quantity: .+ \(and 1 more\)\.$/);
  });

  test('as a whole has an empty path', () => {
    expect(refusal('text').errors).toMatchObject([{ path: '' }]);
  });

  test('does not repeat the values that were sent', () => {
    const error = refusal({ order: { lines: [{ quantity: 'hunter2' }] } });
    expect(JSON.stringify(toProblem(error))).not.toContain('hunter2');
  });
});
