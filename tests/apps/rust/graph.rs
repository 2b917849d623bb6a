//! Nodes of a graph are reached from the first one. Bad: those that were seen are looked for in a list.
mod graph {
    pub struct Graph {
        pub edges: Vec<Vec<usize>>,
    }

    #[derive(Default)]
    pub struct Seen {
        marks: Vec<bool>,
        list: Vec<usize>,
    }

    impl Seen {
        #[inline(never)]
        pub fn insert(&mut self, node: usize) -> bool {
            if cfg!(bad) {
                let new = !self.list.iter().any(|&other| std::hint::black_box(other) == node);
                if new {
                    self.list.push(node);
                }
                return new;
            }
            if self.marks.len() <= node {
                self.marks.resize(node + 1, false);
            }
            !std::mem::replace(&mut self.marks[node], true)
        }
    }

    impl Graph {
        #[inline(never)]
        pub fn new(n: usize) -> Graph {
            Graph { edges: (0..n).map(|i| vec![(i * 7 + 1) % n, (i * 3 + 2) % n, (i + 1) % n]).collect() }
        }

        #[inline(never)]
        pub fn reached(&self) -> usize {
            let mut seen = Seen::default();
            let mut open = vec![0];
            let mut n = 0;
            while let Some(node) = open.pop() {
                if seen.insert(node) {
                    n += 1;
                    open.extend(&self.edges[node]);
                }
            }
            n
        }
    }
}

fn main() {
    let n = std::env::args().nth(1).map_or(2000, |n| n.parse().unwrap());
    println!("{}", graph::Graph::new(n).reached());
}
