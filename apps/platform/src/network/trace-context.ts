/** W3C Trace Context: reads the trace that a request belongs to, and passes it on with the platform's own span. */
import { randomUUID } from 'node:crypto';

export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** The platform's own span: 16 hexadecimal digits. */
  readonly spanId: string;
  /** The sender's span; null for a trace that begins here. */
  readonly parentSpanId: string | null;
}

const SAMPLED = '01';
/** Section 3.2.2.1. Fields may follow in versions that are not known here. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/**
 * Continues the trace that the sender names, or begins one, and names it in the headers of the request. The trace state of
 * a sender whose `traceparent` cannot be read is removed with it (section 3.3).
 */
export function enterTrace(headers: Headers): TraceContext {
  const sent = parse(headers.get('traceparent'));
  const spanId = newSpanId();
  const traceId = sent?.traceId ?? newTraceId();
  headers.set('traceparent', `00-${traceId}-${spanId}-${sent?.flags ?? SAMPLED}`);
  if (sent === null) headers.delete('tracestate');
  return { traceId, spanId, parentSpanId: sent?.spanId ?? null };
}

function parse(header: string | null): { traceId: string; spanId: string; flags: string } | null {
  const [, version, traceId = '', spanId = '', flags = '', more] = TRACEPARENT.exec(header ?? '') ?? [];
  // Version ff is forbidden, and 00 has no other fields. Nothing but zeros names no trace, and no span.
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return null;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  // Other flags than these are not defined for version 00, which is the one that is passed on.
  const known = (Number.parseInt(flags, 16) & 0b11).toString(16).padStart(2, '0');
  return { traceId, spanId, flags: known };
}

/** The digits of a random UUID, of which six bits are fixed, so that neither is ever all zero. */
function newTraceId(): string {
  const id = randomUUID();
  return `${id.slice(0, 8)}${id.slice(9, 13)}${id.slice(14, 18)}${id.slice(19, 23)}${id.slice(24)}`;
}

function newSpanId(): string {
  const id = randomUUID();
  return `${id.slice(19, 23)}${id.slice(24)}`;
}
