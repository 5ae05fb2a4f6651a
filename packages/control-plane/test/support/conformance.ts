/** Checks a response against the promises of the OpenAPI document. */
import { PROBLEMS, problemSchema } from '@freehold/contracts';
import type { AdminOperation } from '@freehold/directory/declarations';
import { expect } from 'vitest';
import {
  answerForm,
  answersEvents,
  eventForms,
  eventsStatus,
  problemCodes,
  successStatuses,
} from '../../src/declared/operations.ts';
import { EVENT_STREAM } from '../../src/http/streams.ts';
import { expectHeaders, type Served } from './headers.ts';

/**
 * Asserts that status, media type and body are documented ones. Answers whether the call succeeded.
 * @param served says that the real host administration answered: then every header is held against the document too. A
 * double answers without most of them.
 */
export async function expectDocumented(
  operation: AdminOperation,
  response: Response,
  served?: Served,
): Promise<boolean> {
  const body = await response.text();
  if (served)
    expectHeaders(operation, response, {
      ...served,
      isPlan: operation.plan !== undefined && response.status === 200 && /"dryRun":true/.test(body),
    });
  const seen = `${operation.name} ${response.status} ${body.slice(0, 300)}`;
  expect(response.headers.get('x-request-id'), seen).toMatch(/^[A-Za-z0-9]/);
  expect(response.headers.get('cache-control'), seen).toBe('no-store');
  if (response.status >= 400) {
    const codes = problemCodes(operation).filter((code) => PROBLEMS[code].status === response.status);
    expect(response.headers.get('content-type'), seen).toBe('application/problem+json');
    const problem = problemSchema.strict().parse(JSON.parse(body));
    expect(codes, seen).toContain(problem.code);
    expect(problem.status, seen).toBe(response.status);
    expect(problem.requestId, seen).toBe(response.headers.get('x-request-id'));
    if (response.status === 401) expect(response.headers.has('www-authenticate'), seen).toBe(true);
    return false;
  }
  expect(successStatuses(operation), seen).toContain(response.status);
  if (response.status === 204 || response.status === 304) {
    expect(body).toBe('');
    return true;
  }
  const { bytes } = operation;
  if (bytes) {
    expect(Object.values(bytes.mediaType.types), seen).toContain(response.headers.get('content-type'));
    const said = Object.entries(bytes.headers).map(([name, field]) => [field, response.headers.get(name)]);
    expect(operation.output.safeParse(Object.fromEntries(said)).success, seen).toBe(true);
    return true;
  }
  if (response.headers.get('content-type') === EVENT_STREAM) {
    expect(answersEvents(operation), seen).toBe(true);
    expect(response.status, seen).toBe(eventsStatus(operation));
    const forms = eventForms(operation);
    for (const [, event = '', data = ''] of body.matchAll(/^event: (.*)\ndata: (.*)$/gm))
      expect(forms[event]?.safeParse(JSON.parse(data)).success, `${seen} ${event}`).toBe(true);
    return true;
  }
  expect(response.headers.get('content-type'), seen).toBe('application/json');
  const value: unknown = JSON.parse(body);
  expect(answerForm(operation, response.status, value).safeParse(value).success, seen).toBe(true);
  return true;
}
