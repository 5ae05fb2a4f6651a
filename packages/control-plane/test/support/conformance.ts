/** What a response must keep to be the one that the OpenAPI document promises. */
import { PROBLEMS, problemSchema } from '@freehold/contracts';
import type { AdminOperation } from '@freehold/directory/declarations';
import { expect } from 'vitest';
import { answersEvents, eventForms, eventsStatus } from '../../src/declared/operations.ts';
import { problemCodes, successStatuses } from '../../src/declared/statuses.ts';
import { EVENT_STREAM } from '../../src/http/events.ts';

/** Asserts that status, media type, headers and body are documented ones. Answers whether the call succeeded. */
export async function expectDocumented(operation: AdminOperation, response: Response): Promise<boolean> {
  const body = await response.text();
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
  const form = response.status === 200 && operation.plan ? operation.plan : operation.output;
  expect(form.safeParse(JSON.parse(body)).success, seen).toBe(true);
  return true;
}
