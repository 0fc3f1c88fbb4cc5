import http from 'k6/http';
import { check, group } from 'k6';
import { Trend } from 'k6/metrics';
const mine = new Trend('mine', true);
export const options = { vus: 2, duration: '1s', thresholds: { http_req_duration: ['max<0.000001'], checks: ['rate==1'] } };
export default function () {
  group('ping', () => {
    const answer = http.get(__ENV.GATEBENCH_URL + '/ping');
    check(answer, { 'is fine': (it) => it.status === 200 });
    mine.add(answer.timings.duration);
  });
}
