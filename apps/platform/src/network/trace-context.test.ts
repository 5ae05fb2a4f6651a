import { expect, test } from 'vitest';
import { enterTrace } from './trace-context.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

function entered(traceparent: string | null) {
  const headers = new Headers({ tracestate: 'vendor=1' });
  if (traceparent !== null) headers.set('traceparent', traceparent);
  return { ...enterTrace(headers), sent: headers.get('traceparent'), state: headers.get('tracestate') };
}

test.each([
  ['00', '01', '', '01'],
  ['00', '00', '', '00'],
  ['00', '03', '', '03'],
  // Flags that are not defined, and fields of a version that is not known.
  ['00', 'fd', '', '01'],
  ['cc', '01', '-what-comes', '01'],
  ['cc', '01', '', '01'],
])(
  'a trace of version %s with the flags %s%s goes on with a span of the platform',
  (version, flags, more, passed) => {
    const seen = entered(`${version}-${TRACE}-${SPAN}-${flags}${more}`);
    expect(seen).toMatchObject({ traceId: TRACE, parentSpanId: SPAN, state: 'vendor=1' });
    expect(seen.spanId).toMatch(/^(?!0{16})[0-9a-f]{16}$/);
    expect(seen.spanId).not.toBe(SPAN);
    expect(seen.sent).toBe(`00-${TRACE}-${seen.spanId}-${passed}`);
  },
);

test.each([
  ['no header', null],
  ['the forbidden version', `ff-${TRACE}-${SPAN}-01`],
  ['a version that is none', `0-${TRACE}-${SPAN}-01`],
  ['more fields than version 00 has', `00-${TRACE}-${SPAN}-01-more`],
  ['fields without a separator', `cc-${TRACE}-${SPAN}-01more`],
  ['capital letters', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
  ['a trace of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
  ['a span of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
  ['two headers', `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`],
  ['a short trace', `00-${TRACE.slice(1)}-${SPAN}-01`],
])('%s begins a trace, without the state of the sender', (_, traceparent) => {
  const seen = entered(traceparent);
  expect(seen.traceId).toMatch(/^(?!0{32})[0-9a-f]{32}$/);
  expect(seen.traceId).not.toBe(TRACE);
  expect(seen).toMatchObject({ parentSpanId: null, state: null });
  expect(seen.sent).toBe(`00-${seen.traceId}-${seen.spanId}-01`);
});
