/** The groups of operations in the API's document. */
export const TAGS: Readonly<Record<string, string>> = {
  customer: 'People and companies that work is done for.',
  dashboard: 'The figures of the day.',
  invoice: 'What completed work costs.',
  order: 'Work orders, from the draft to the invoice.',
  rates: 'What work is charged at.',
  reminder: 'What waits to be done.',
  request: 'Appointments that visitors ask for.',
  site: 'The places where work is done.',
  summary: 'Summaries of orders, written by a language model.',
  widget: 'The web sites that may ask for appointments.',
};
