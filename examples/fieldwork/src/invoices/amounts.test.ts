import { expect, test } from 'vitest';
import { invoiceAmounts } from './amounts.ts';

const rates = { hourlyCents: 6_500, callOutCents: 4_500 };

test('an invoice is the call-out, the time by the minute and the materials', () => {
  expect(invoiceAmounts({ minutes: 90, materialsCents: 1_234 }, rates)).toEqual({
    callOutCents: 4_500,
    labourCents: 9_750,
    materialsCents: 1_234,
    totalCents: 15_484,
  });
});

test('labour is whole cents, rounded once and half upwards', () => {
  expect(
    invoiceAmounts({ minutes: 1, materialsCents: 0 }, { hourlyCents: 30, callOutCents: 0 }).labourCents,
  ).toBe(1);
  expect(invoiceAmounts({ minutes: 7, materialsCents: 0 }, rates).labourCents).toBe(758);
});

test('the total is the sum of what is shown', () => {
  for (let minutes = 1; minutes < 500; minutes += 7) {
    const amounts = invoiceAmounts({ minutes, materialsCents: minutes * 13 }, rates);
    expect(amounts.totalCents).toBe(amounts.callOutCents + amounts.labourCents + amounts.materialsCents);
    expect(Number.isInteger(amounts.totalCents)).toBe(true);
  }
});
